"""The web server as a process: clients that do not read, bursts, kills, and what an idle socket weighs."""

import asyncio
import base64
import json
import os
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
import websockets
from asgiref.sync import sync_to_async
from django.test import Client
from websockets.asyncio.client import ClientConnection

from agents.engine.events import Complete, Token
from agents.models import Execution
from conversations import actions
from conversations.models import Conversation
from tests.faces.conftest import token_of
from tests.faces.runs import append, make_run, tell, tokens
from tests.faces.web import Web

pytestmark = pytest.mark.usefixtures("in_threads")

write = sync_to_async(append)
announce = sync_to_async(tell)
run_of = sync_to_async(make_run)


@pytest.fixture
async def token(in_threads: None, alice: Any) -> str:
    return await sync_to_async(token_of)(alice)


@pytest.fixture
async def conversation(in_threads: None, alice: Any) -> Conversation:
    return await sync_to_async(actions.create)(alice)


@asynccontextmanager
async def opened(
    web: Web, conversation: Conversation, token: str, after: dict[str, int] | None = None
) -> AsyncIterator[ClientConnection]:
    url = f"ws://127.0.0.1:{web.port}/ws/conversations/{conversation.id}/?after={json.dumps(after or {})}"
    async with websockets.connect(url.replace(" ", ""), subprotocols=[f"bearer.{token}"], max_size=None) as client:  # type: ignore[list-item]
        yield client


@asynccontextmanager
async def connected(web: Web, conversation: Conversation, token: str) -> AsyncIterator[ClientConnection]:
    """Where nothing has happened yet: it listens by now."""
    async with opened(web, conversation, token) as client:
        await client.send('{"type": "ping"}')
        assert json.loads(await client.recv()) == {"type": "pong"}
        yield client


async def events(client: ClientConnection, *, upto: int) -> list[dict[str, Any]]:
    """Until the event of that number, acknowledging as the page does."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        while not found or found[-1]["seq"] < upto:
            frame = json.loads(await client.recv())
            if frame["type"] == "event":
                found.append(frame["event"])
                if len(found) % 50 == 0:
                    event = frame["event"]
                    ack = {"type": "ack", "execution_id": event["execution_id"], "seq": event["seq"]}
                    await client.send(json.dumps(ack))
    return found


@pytest.mark.slow
async def test_a_thousand_events_in_a_burst_reach_every_tab_once_and_in_order(
    web: Web, alice: Any, token: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    other = await sync_to_async(actions.create)(alice)
    others_run = await run_of(alice, other.id)
    async with AsyncExitStack() as stack:
        tabs = [await stack.enter_async_context(connected(web, conversation, token)) for _ in range(3)]
        bystander = await stack.enter_async_context(connected(web, other, token))
        reading = [asyncio.create_task(events(tab, upto=1001)) for tab in tabs]

        for _ in range(50):
            await announce(run, *tokens(*"x" * 20))
            await announce(others_run, *tokens("y"))
        await announce(run, Complete(answer="x" * 1000))

        for one in reading:
            assert [event["seq"] for event in await one] == list(range(1, 1002))
        assert [event["seq"] for event in await events(bystander, upto=50)] == list(range(1, 51))


@pytest.mark.slow
async def test_tabs_come_back_after_the_web_server_was_killed_and_miss_nothing(
    web: Web, alice: Any, token: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    got: list[list[int]] = [[] for _ in range(20)]

    async def tab(number: int) -> None:
        """Reads to the end, however often it has to connect."""
        seen = got[number]
        while not seen or seen[-1] < 301:
            try:
                async with opened(web, conversation, token, {str(run.id): len(seen)}) as client:
                    while seen[-1:] != [301]:
                        seen += [event["seq"] for event in await events(client, upto=len(seen) + 1)]
            except (websockets.ConnectionClosed, OSError, EOFError, websockets.InvalidHandshake):
                await asyncio.sleep(0.1)

    tabs = [asyncio.create_task(tab(number)) for number in range(20)]
    for batch in range(30):
        await announce(run, *tokens(*"x" * 10))
        if batch == 10:
            await asyncio.to_thread(web.kill)
        if batch == 20:
            await asyncio.to_thread(web.start)
    await announce(run, Complete(answer="x" * 300))
    async with asyncio.timeout(60):
        await asyncio.gather(*tabs)

    assert got == [list(range(1, 302))] * 20


async def test_what_the_kernel_does_not_take_at_once_follows_whole_and_in_order(
    web: Web, alice: Any, token: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    url = f"ws://127.0.0.1:{web.port}/ws/conversations/{conversation.id}/?after={{}}"
    narrow = sockets.socket()
    narrow.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    narrow.connect(("127.0.0.1", web.port))
    said = [Token(content=letter * 100_000) for letter in "abcdefghijklmno"]
    async with websockets.connect(url, subprotocols=[f"bearer.{token}"], sock=narrow, max_queue=1) as client:  # type: ignore[list-item]
        await client.send('{"type": "ping"}')
        assert json.loads(await client.recv()) == {"type": "pong"}

        for one in said:
            await announce(run, one)
        came = await events(client, upto=len(said))

    assert [event["seq"] for event in came] == list(range(1, len(said) + 1))
    assert [event["content"] for event in came] == [one.content for one in said]


def stuck_client(web: Web, conversation: Conversation, token: str) -> sockets.socket:
    """Connects, says one word of greeting, and never reads again."""
    client = sockets.socket()
    client.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    client.settimeout(30)
    client.connect(("127.0.0.1", web.port))
    key = base64.b64encode(os.urandom(16)).decode()
    client.sendall(
        (
            f"GET /ws/conversations/{conversation.id}/?after={{}} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
            f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: bearer.{token}\r\n\r\n"
        ).encode()
    )
    assert b"101" in client.recv(64)
    return client


@pytest.mark.slow
async def test_clients_that_never_read_cost_little_memory_and_disturb_nobody(
    web: Web, alice: Any, token: str, conversation: Conversation
) -> None:
    await asyncio.to_thread(web.start_afresh)
    quiet = await sync_to_async(actions.create)(alice)
    others_run = await run_of(alice, quiet.id)
    backlog = await run_of(alice, conversation.id)
    for _ in range(20):
        await write(backlog, *[Token(content="x" * 100_000) for _ in range(20)])
    async with connected(web, quiet, token) as reader:
        before_mb = web.memory_mb()
        stuck = [await asyncio.to_thread(stuck_client, web, conversation, token) for _ in range(10)]

        for _ in range(20):
            await announce(others_run, *tokens("y"))
            assert len(await events(reader, upto=others_run.last_seq)) == 1
        grown_mb = max([web.memory_mb() - before_mb for _ in range(5)])

        for client in stuck:
            client.close()
    assert grown_mb < 10 * 5


async def test_a_client_that_never_reads_is_closed_and_goes_on_where_it_was(
    web: Web, alice: Any, token: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    await write(run, *[Token(content="x" * 100_000) for _ in range(60)])
    seen: list[int] = []
    codes = []

    while seen[-1:] != [60]:
        # Ten frames of room in the client, and no word from it.
        after = json.dumps({str(run.id): len(seen)}).replace(" ", "")
        url = f"ws://127.0.0.1:{web.port}/ws/conversations/{conversation.id}/?after={after}"
        async with websockets.connect(url, subprotocols=[f"bearer.{token}"]) as client:  # type: ignore[list-item]
            try:
                while seen[-1:] != [60]:
                    seen.append(json.loads(await client.recv())["event"]["seq"])
            except websockets.ConnectionClosed as closed:
                codes.append(closed.rcvd.code if closed.rcvd else None)

    assert seen == list(range(1, 61))
    assert codes == [4008, 4008]


@pytest.mark.slow
async def test_an_idle_socket_weighs_sixty_kilobytes_at_most(web: Web, alice: Any, token: str) -> None:
    async def open_many(count: int) -> list[Any]:
        opened = []
        for _ in range(count):
            context = connected(web, await sync_to_async(actions.create)(alice), token)
            opened.append((context, await context.__aenter__()))
        return opened

    # More than one person may have.
    await asyncio.to_thread(web.start_afresh, SOCKETS_AT_ONCE="0")
    warm = await open_many(20)
    before_mb = web.memory_mb()
    many = await open_many(200)
    weight_kb = (web.memory_mb() - before_mb) * 1000 / 200

    for context, _ in warm + many:
        await context.__aexit__(None, None, None)
    print(f"an idle socket weighs {weight_kb:.0f} KB; the web process {before_mb:.0f} MB")
    assert weight_kb < 60


@pytest.mark.slow
async def test_the_session_ends_the_socket_over_the_network_too(
    web: Web, alice: Any, conversation: Conversation
) -> None:
    from hyperagent.accounts import actions as accounts

    made, raw = await sync_to_async(accounts.make_token)(alice)
    async with connected(web, conversation, raw) as client:
        await sync_to_async(accounts.revoke_token)(alice, made.id)

        with pytest.raises(websockets.ConnectionClosed) as closed:
            await asyncio.wait_for(client.recv(), 5)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


@pytest.mark.spec("F21")
async def test_a_body_that_comes_in_pieces_is_read_as_one_whose_length_is_known(web: Web, token: str) -> None:
    async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 20):
            yield body[start : start + 20]

    form = httpx.Request("POST", web.url, files={"file": ("notes.txt", b"The key lies under the mat.")})
    async with httpx.AsyncClient(base_url=f"{web.url}/api/v1", headers={"authorization": f"Bearer {token}"}) as client:
        begun = await client.post(
            "/conversations", content=in_pieces(b'{"title": "Keys"}'), headers={"content-type": "application/json"}
        )
        uploaded = await client.post(
            "/documents", content=in_pieces(form.read()), headers={"content-type": form.headers["content-type"]}
        )
        shared = await client.patch(
            f"/documents/{uploaded.json()['doc_id']}",
            content=in_pieces(b'{"shared_with": "everyone"}'),
            headers={"content-type": "application/json"},
        )

    assert (begun.status_code, begun.json()["title"]) == (201, "Keys")
    assert (uploaded.status_code, uploaded.json()["filename"]) == (201, "notes.txt")
    assert (shared.status_code, shared.json()["visibility"]) == (200, "everyone")


@pytest.mark.slow
async def test_streams_and_questions_that_wait_hold_no_database_connection(
    web: Web, alice: Any, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    browser = Client()
    await sync_to_async(browser.force_login)(alice)
    cookies = {name: morsel.value for name, morsel in browser.cookies.items()}
    token = await sync_to_async(token_of)(alice)
    # The web process has eight connections.
    async with httpx.AsyncClient(base_url=web.url, cookies=cookies, timeout=60) as client, AsyncExitStack() as stack:
        stream = {"accept": "text/event-stream"}
        for _ in range(12):
            url = f"/api/v1/executions/{run.id}/events"
            response = await stack.enter_async_context(client.stream("GET", url, headers=stream))
            assert response.status_code == 200
        asking = [
            asyncio.create_task(
                client.post("/api/v1/query", json={"query": f"{number}"}, headers={"authorization": f"Bearer {token}"})
            )
            for number in range(12)
        ]
        while await Execution.objects.acount() < 13:
            await asyncio.sleep(0.05)

        assert (await client.get("/api/v1/me")).status_code == 200

        for one in asking:
            one.cancel()
