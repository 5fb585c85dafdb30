"""Signing in to a server by OAuth: found out, registered, out to its page and back, kept sealed, renewed."""

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
import pytest
from django.db import connections
from django.utils import timezone

from agents.mcp import actions, connecting, reading, turns
from agents.mcp.actions import Reviewed, Wanted
from agents.mcp.definitions import Risk
from agents.mcp.models import McpServer, McpSignIn
from agents.mcp.provider import ConnectedServers
from agents.mcp.reading import config_of
from agents.mcp.sealing import opened, sealed
from agents.mcp.values import ServerConfig
from agents.mcp.ways import ways_of
from agents.runtime.driven import About
from agents.tools.providers import Providers
from agents.tools.tool import Call, ToolError
from hyperagent.accounts.models import User
from hyperagent.embedded.instance import free_port
from tests.mcp.servers import Served
from tests.mcp.signing_server import Consent, guarded

HERE = "/settings/mcp/"


@dataclass
class Signed:
    server: McpServer
    consent: Consent


@pytest.fixture
def guarding() -> Iterator[Served]:
    port = free_port()
    served = Served(guarded(Consent(), port), port=port).start()
    yield served
    served.stop()


def connected(by: Any, served: Served) -> McpServer:
    """Connected for everybody, and nobody has signed in yet."""
    wanted = Wanted(name="guarded", url=served.url, is_inner=True, agents=("chat",), for_installation=True)
    return actions.look(by, actions.add_server(by, wanted).pk)


def gone_out(browser: Any, server: McpServer) -> str:
    """Where the server's sign-in sends who clicked on it: path and query of our page."""
    page = browser.post(f"{HERE}{server.pk}/sign-in/").content.decode()
    (link,) = re.findall(r'href="(http://127[^"]+)"', page)
    back = urlsplit(httpx.get(link.replace("&amp;", "&")).headers["location"])
    return f"{back.path}?{back.query}"


def waiting() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "mcp sign-in"}


@pytest.mark.slow
@pytest.mark.spec("B26")
def test_a_person_signs_in_in_their_browser_and_the_token_is_kept_and_renewed(
    bob: Any, charlie: Any, client_of: Any, transactional_db: None
) -> None:
    port, consent = free_port(), Consent()
    served = Served(guarded(consent, port), port=port).start()
    bobs = client_of(bob)
    wanted = Wanted(name="guarded", url=served.url, is_inner=True, agents=("chat",), for_installation=True)

    server = actions.look(bob, actions.add_server(bob, wanted).pk)
    assert server.state == "needs_sign_in"
    assert "Sign in" in bobs.get(f"{HERE}{server.pk}/").content.decode()

    # Out: a link, not a form, with what the library asks for.
    page = bobs.post(f"{HERE}{server.pk}/sign-in/").content.decode()
    (link,) = re.findall(r'href="(http://127[^"]+)"', page)
    address = link.replace("&amp;", "&")
    asked = parse_qs(urlsplit(address).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"][0].endswith("/settings/mcp/signed-in/")

    # Back: only for who went, once.
    back = urlsplit(httpx.get(address).headers["location"])
    assert client_of(charlie).get(f"{back.path}?{back.query}").status_code == 404
    assert bobs.get(f"{back.path}?{back.query.replace('state=', 'state=x')}").status_code == 404
    done = bobs.get(f"{back.path}?{back.query}", follow=True)
    assert "Signed in to guarded." in done.content.decode()
    assert bobs.get(f"{back.path}?{back.query}").status_code == 404
    server.refresh_from_db()
    assert (server.state, server.tools.get().called) == ("connected", "mcp_guarded_whoami")
    kept = opened(server.sealed)["oauth"]
    assert kept["tokens"]["access_token"] in consent.tokens
    assert kept["tokens"]["access_token"] not in server.sealed + done.content.decode()
    assert McpSignIn.objects.get().is_over

    # Kept: nobody is asked again; and renewed where its time is over.
    assert actions.look(bob, server.pk).state == "connected"
    old = {**kept, "expires_at": time.time() - 1}
    McpServer.objects.filter(pk=server.pk).update(sealed=sealed({"oauth": old}))
    assert actions.look(bob, server.pk).state == "connected"
    assert consent.granted == ["code", "refresh"]
    server.refresh_from_db()
    assert opened(server.sealed)["oauth"]["tokens"] != kept["tokens"]

    # Taken back: said so, and nothing loops.
    consent.tokens.clear()
    consent.refreshing.clear()
    assert actions.look(bob, server.pk).state == "needs_sign_in"
    served.stop()


def test_who_says_no_at_the_server_is_told_so_and_nobody_waits_any_longer(
    guarding: Served, bob: Any, client_of: Any, transactional_db: None
) -> None:
    bobs, server = client_of(bob), connected(bob, guarding)
    (state,) = parse_qs(urlsplit(gone_out(bobs, server)).query)["state"]

    done = bobs.get(f"{HERE}signed-in/?error=access_denied&state={state}", follow=True)

    assert "guarded gave no leave" in done.content.decode()
    for thread in waiting():
        thread.join(20)
    assert waiting() == set()
    assert McpSignIn.objects.get().is_over
    server.refresh_from_db()
    assert server.state == "needs_sign_in"


@pytest.mark.slow
def test_a_server_whose_secrets_cannot_be_read_any_more_can_be_signed_in_to(
    guarding: Served, bob: Any, client_of: Any, transactional_db: None
) -> None:
    bobs, server = client_of(bob), connected(bob, guarding)
    McpServer.objects.filter(pk=server.pk).update(sealed="by another key")

    lost = actions.look(bob, server.pk)
    done = bobs.get(gone_out(bobs, server), follow=True)

    assert (lost.state, "sign in, again" in lost.last_error) == ("needs_sign_in", True)
    assert "Signed in to guarded." in done.content.decode()


@pytest.mark.threat("T16")
async def test_where_a_server_sends_us_to_sign_in_is_told_as_what_a_stranger_said(in_threads: None) -> None:
    """A run that cannot reach it is told why: it is a name that the server has chosen."""
    port = free_port()
    here = f"http://127.0.0.1:{port}"
    names = json.dumps({"resource": f"{here}/mcp", "authorization_servers": ["http://obey-me.invalid/"]})

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        if asked.startswith(b"POST"):
            status, more, body = "401 Unauthorized", f'www-authenticate: Bearer resource_metadata="{here}/about"', ""
        else:
            status, more, body = "200 OK", "content-type: application/json", names
        head = f"HTTP/1.1 {status}\r\n{more}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(f"{head}{body}".encode())
        await writer.drain()
        writer.close()

    config = ServerConfig(uuid4(), "calc", "http", url=f"{here}/mcp", is_inner=True, has_oauth=True)
    async with await asyncio.start_server(serve, "127.0.0.1", port):
        with pytest.raises(connecting.NotConnected) as failed:
            async with connecting.connected(config, ways_of(None)):
                pytest.fail("there is nobody to sign in")

    assert "obey" not in failed.value.ours
    assert "obey-me.invalid" in failed.value.said


@pytest.mark.slow
def test_who_clicks_twice_signs_in_by_the_second(
    bob: Any, client_of: Any, guarding: Served, transactional_db: None
) -> None:
    server, bobs = connected(bob, guarding), client_of(bob)
    before = server.last_error
    gone_out(bobs, server)
    (first,) = waiting()

    back = gone_out(bobs, server)
    first.join(timeout=20)  # it finds out that it is not the newest any more
    server.refresh_from_db()
    after = server.last_error
    done = bobs.get(back, follow=True)

    assert (after, done.status_code) == (before, 200)
    assert "Signed in to guarded." in done.content.decode()
    assert actions.look(bob, server.pk).state == "connected"


@pytest.mark.slow
def test_a_sign_in_that_fails_takes_nothing_from_who_signed_in_after_it(
    bob: Any, client_of: Any, guarding: Served, transactional_db: None
) -> None:
    dora = User.objects.create_user("dora@example.org", "a long password", is_staff=True)
    server, bobs = connected(bob, guarding), client_of(bob)
    early = gone_out(bobs, server)
    assert (
        "Signed in to guarded." in client_of(dora).get(gone_out(client_of(dora), server), follow=True).content.decode()
    )

    bobs.get(re.sub("code=[^&]+", "code=nonsense", early))

    server.refresh_from_db()
    assert (server.state, server.last_error) == ("connected", "")


@pytest.fixture
def rotating(bob: Any, client_of: Any, transactional_db: None) -> Iterator[Signed]:
    """Signed in to a server that takes the old tokens back with each renewal. The token's time is over."""
    port, consent = free_port(), Consent(renewal_s=0.5)
    served = Served(guarded(consent, port), port=port).start()
    server = connected(bob, served)
    client_of(bob).get(gone_out(client_of(bob), server))
    yield Signed(server, consent)
    served.stop()


def runs_out(server: McpServer) -> None:
    server.refresh_from_db()
    kept = opened(server.sealed)["oauth"]
    McpServer.objects.filter(pk=server.pk).update(sealed=sealed({"oauth": {**kept, "expires_at": time.time() - 1}}))


@pytest.mark.slow
@pytest.mark.spec("B26")
def test_of_many_who_come_with_an_old_token_one_renews_it_for_all(rotating: Signed, bob: Any) -> None:
    runs_out(rotating.server)
    states: list[str] = []
    comers = [threading.Thread(target=looks, args=(bob, rotating.server, states)) for _ in range(5)]

    for comer in comers:
        comer.start()
    for comer in comers:
        comer.join(timeout=30)

    assert states == ["connected"] * 5
    assert rotating.consent.granted == ["code", "refresh"]
    rotating.server.refresh_from_db()
    assert rotating.server.renewing_until is None


def test_a_server_that_cannot_renew_a_sign_in_just_now_is_not_one_that_wants_another(
    rotating: Signed, bob: Any
) -> None:
    runs_out(rotating.server)
    rotating.consent.failures = 1
    kept = opened(rotating.server.sealed)["oauth"]

    busy = actions.look(bob, rotating.server.pk)
    after = opened(busy.sealed)["oauth"]
    again = actions.look(bob, rotating.server.pk)

    assert (busy.state, busy.last_error) == (
        "failed",
        "'guarded' could not renew its sign-in just now (500). Try again in a moment.",
    )
    assert after["tokens"] == kept["tokens"]
    assert (again.state, rotating.consent.granted) == ("connected", ["code", "refresh"])


def test_a_run_that_finds_a_sign_in_over_leaves_the_button_for_another_on_the_page(
    rotating: Signed, bob: Any, client_of: Any
) -> None:
    runs_out(rotating.server)
    rotating.consent.tokens.clear()
    rotating.consent.refreshing.clear()
    tool = rotating.server.tools.get()
    reviewed = Reviewed(pin=tool.pin, risk=Risk.READ, requires_approval=False, allowed=True)
    actions.review_tool(bob, rotating.server.pk, tool.pk, reviewed)
    (offered,) = reading.offered_to(bob.pk)["chat"]

    async def touching() -> None:
        raise AssertionError("no effect begins")

    async def called() -> None:
        servers = ConnectedServers()
        try:
            about = About(uuid4(), user_id=bob.pk)
            await servers.call(Call(Providers(), about, "chat", None, "", print, touching), offered, {})
        finally:
            await servers.aclose()

    with pytest.raises(ToolError, match="wants to know who you are"):
        asyncio.run(called())

    rotating.server.refresh_from_db()
    assert rotating.server.state == "needs_sign_in"
    assert f"{HERE}{rotating.server.pk}/sign-in/" in client_of(bob).get(f"{HERE}{rotating.server.pk}/").content.decode()


@pytest.mark.slow
def test_the_turn_of_one_who_died_with_it_ends_by_itself(rotating: Signed, bob: Any) -> None:
    runs_out(rotating.server)
    held = timezone.now() + timedelta(seconds=2)
    McpServer.objects.filter(pk=rotating.server.pk).update(renewing_until=held)

    assert actions.look(bob, rotating.server.pk).state == "connected"

    assert timezone.now() >= held
    assert rotating.consent.granted == ["code", "refresh"]


def test_a_turn_that_is_over_gives_nothing_of_the_next_back(rotating: Signed) -> None:
    runs_out(rotating.server)
    config = config_of(rotating.server)
    first = turns.take(config)
    assert first.until is not None
    assert turns.take(config).until is None
    McpServer.objects.filter(pk=rotating.server.pk).update(renewing_until=timezone.now() - timedelta(seconds=1))
    second = turns.take(config)

    turns.give_back(config, first.until)

    rotating.server.refresh_from_db()
    assert rotating.server.renewing_until == second.until
    assert second.until is not None


@pytest.mark.slow
def test_one_whose_token_was_taken_back_by_a_renewal_goes_on_with_the_new_one(rotating: Signed, bob: Any) -> None:
    """A run that connected before: its own token had time left."""

    async def calls_twice() -> list[str]:
        config = await asyncio.to_thread(config_of, rotating.server)
        said = []
        async with connecting.connected(config, ways_of(bob.pk), heard=lambda: None) as client:
            said.append(str((await client.call_tool("whoami", {})).content))
            await asyncio.to_thread(runs_out, rotating.server)
            await asyncio.to_thread(actions.look, bob, rotating.server.pk)
            said.append(str((await client.call_tool("whoami", {})).content))
        return said

    rotating.server.refresh_from_db()

    assert all("a friend" in said for said in asyncio.run(calls_twice()))
    assert rotating.consent.granted == ["code", "refresh"]


def looks(by: Any, server: McpServer, states: list[str]) -> None:
    try:
        states.append(actions.look(by, server.pk).state)
    finally:
        connections.close_all()


@pytest.mark.slow
def test_what_a_server_gave_is_not_kept_for_another_address(
    bob: Any, client_of: Any, guarding: Served, transactional_db: None
) -> None:
    server, bobs = connected(bob, guarding), client_of(bob)
    back = gone_out(bobs, server)
    elsewhere = Wanted(name="guarded", url="http://127.0.0.1:9/mcp", is_inner=True, agents=("chat",))
    actions.change_server(bob, server.pk, elsewhere)

    bobs.get(back)

    server.refresh_from_db()
    assert (server.state, list(server.tools.all())) == ("new", [])
    assert not opened(server.sealed).get("oauth", {}).get("tokens")
