"""Both sockets, with every message that can be said on one: as nobody, as Charlie, with a role, and as Alice whose
session has ended meanwhile; and from pages that are not ours.
"""

import re
import uuid
from collections.abc import Mapping
from typing import Any, Final, get_args

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from agents.models import Execution
from conversations import actions, frames
from conversations.routing import websocket_urlpatterns
from hyperagent import asgi
from hyperagent.accounts import actions as accounts
from hyperagent.accounts.middleware import SocketOrigin
from tests.faces.conftest import in_threads
from tests.faces.runs import make_agent, make_request, make_run
from tests.faces.sockets import HOST, OWN_ORIGIN, Socket, address, browser, cookie_of
from tests.walls.access import socket_rules
from tests.walls.cast import ALICE, CHARLIE, people
from tests.walls.owners import WORD, everything_stored, things_of

__all__ = ["in_threads"]

pytestmark = pytest.mark.usefixtures("in_threads")

INBOX: Final = "/ws/inbox/"


@sync_to_async
def stored() -> dict[str, Any]:
    """Without the sessions: Django throws those away that have ended."""
    return {table: rows for table, rows in everything_stored().items() if table != "django_session"}


create = sync_to_async(actions.create)
Ids = Mapping[str, str]


def messages(ids: Ids) -> dict[str, dict[str, Any]]:
    """Every message there is, about what has these ids. Each would do something if it were let."""
    return {
        "say": {"text": "Hello", "edits": ids["message_id"]},
        "cancel": {"execution_id": ids["execution_id"]},
        "steer": {"execution_id": ids["execution_id"], "text": "Stop"},
        "intervene": {"agent_id": ids["agent_id"], "user_comment": "delete"},
        "respond": {"request_id": ids["request_id"], "decision": "answered", "text": "Yes"},
        "ack": {"execution_id": ids["execution_id"], "seq": 1},
        "ping": {},
    }


VERBS: Final = ("say", "cancel", "steer", "intervene", "respond")
SILENT: Final = {"ack": None, "ping": "pong"}
"""Change nothing, and name nothing that is looked up."""


@sync_to_async
def going_on(alice: Any) -> dict[str, str]:
    """Alice's things, while a run of hers goes on: there is something to see and to change."""
    ids = things_of(alice)
    run = make_run(alice, uuid.UUID(ids["conversation_id"]), question=f"{WORD} second question")
    agent, asked = make_agent(run, task=f"{WORD} task"), make_request(run, question={"question": f"{WORD} matter"})
    return {**ids, "execution_id": str(run.id), "agent_id": str(agent.id), "request_id": str(asked.request_id)}


def nobodys(ids: Ids) -> dict[str, str]:
    return {name: str(uuid.uuid4()) for name in ids}


def plainly(frame: Any, ids: Ids) -> str:
    said = str(frame)
    for name, value in ids.items():
        said = said if name == "seq" else said.replace(value, "")
    return said


@pytest.mark.threat("T02")
def test_every_socket_and_every_message_has_a_rule() -> None:
    routes = [re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", str(one.pattern)).strip("^$") for one in websocket_urlpatterns]
    known = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(get_args(frames.ClientFrame)[0])}

    assert set(routes) - {""} == set(socket_rules()), "say in tests/walls/access.py who may open it"
    assert known == set(messages(dict.fromkeys(_NAMES, ""))), "say here what it would do with Alice's ids"
    assert known == {word for rule in socket_rules().values() for word in rule.methods}
    # No socket beside these.
    origin = asgi.routes.application_mapping["websocket"]
    assert isinstance(origin, SocketOrigin)
    assert origin.inner.routes is websocket_urlpatterns
    assert set(asgi.routes.application_mapping) == {"http", "websocket"}


_NAMES: Final = ("message_id", "execution_id", "agent_id", "request_id")


@pytest.mark.spec("B4")
@pytest.mark.threat("T02", "T01")
async def test_nobody_but_alice_opens_her_socket_or_reaches_her_things_from_one_of_their_own(
    alice: Any, bob: Any, charlie: Any
) -> None:
    ids = await going_on(alice)
    cast = await sync_to_async(people)(alice, bob, charlie)
    del cast[ALICE]

    for who, user in cast.items():
        cookie = cookie_of(await browser(user)) if user else None
        own = await create(user) if user else None
        before = await stored()
        async with Socket(address(ids["conversation_id"]), cookie=cookie) as hers:
            assert await hers.closed() == (4404 if user else 4401), who
        async with Socket(INBOX, cookie=cookie) as inbox:
            if user is None:
                assert await inbox.closed() == 4401
            else:
                await inbox.frame("requests")
                await reaches_nothing(inbox, ids, who)
        if own is not None:
            async with Socket(address(own.id, {ids["execution_id"]: 0}), cookie=cookie) as socket:
                await reaches_nothing(socket, ids, who)
        assert await stored() == before, who


async def reaches_nothing(socket: Socket, ids: Ids, who: str) -> None:
    """By a message about Alice's things is told what is told about things that nobody has."""
    others = nobodys(ids)
    for kind, foreign in messages(ids).items():
        await socket.send(type=kind, **foreign)
        if kind in SILENT:
            continue
        told = await socket.frame()
        await socket.send(type=kind, **messages(others)[kind])
        assert plainly(told, ids) == plainly(await socket.frame(), others), (who, kind)
        assert (told["type"], WORD in str(told)) == ("error", False), (who, kind)
    assert (await socket.frame())["type"] == "pong"


@pytest.mark.threat("T02")
async def test_nothing_is_said_into_a_conversation_from_the_inbox(alice: Any) -> None:
    ids, cookie = await going_on(alice), cookie_of(await browser(alice))
    before = await stored()

    async with Socket(INBOX, cookie=cookie) as socket:
        await socket.frame("requests")
        await socket.send(type="say", **messages(ids)["say"])
        assert (await socket.frame())["error"]["code"] == "not_here"
    assert await stored() == before


@sync_to_async
def log_out(alice: Any, client: Client) -> None:
    client.logout()


@sync_to_async
def deactivate(alice: Any, client: Client) -> None:
    # By no verb of ours, so that what the words are about goes on.
    type(alice).objects.filter(pk=alice.pk).update(is_active=False)


@sync_to_async
def change_password(alice: Any, client: Client) -> None:
    accounts.change_password(alice, "an entirely different sentence", by=alice)


@pytest.mark.slow
@pytest.mark.threat("T02", "T25")
@pytest.mark.parametrize("end", [log_out, deactivate, change_password])
async def test_no_word_of_a_session_that_has_ended_does_anything(alice: Any, end: Any) -> None:
    """On sockets that were opened before it ended, each with one word, before the next look at all sockets."""
    ids, client = await going_on(alice), await browser(alice)
    cookie = cookie_of(client)
    paths = (address(ids["conversation_id"]), INBOX)
    sockets = [(kind, Socket(path, cookie=cookie)) for path in paths for kind in VERBS]
    for _, socket in sockets:
        await socket.__aenter__()

    await end(alice, client)
    before = await stored()
    for kind, socket in sockets:
        await socket.send(type=kind, **messages(ids)[kind])
        assert await socket.closed() == 4401, kind
        await socket.__aexit__()

    assert await stored() == before
    assert (await Execution.objects.aget(id=ids["execution_id"])).cancel_requested_at is None
    async with Socket(address(ids["conversation_id"]), cookie=cookie) as again:
        assert await again.closed() == 4401


@pytest.mark.threat("T14")
async def test_no_page_of_another_origin_opens_a_socket_on_alices_cookie(alice: Any) -> None:
    conversation, cookie = await create(alice), cookie_of(await browser(alice))
    foreign = (
        "http://evil.example", "null", "", None, "file://", f"http://{HOST}.evil.example", f"http://evil-{HOST}",
        f"http://evil{HOST}", f"http://{HOST}@evil.example", f"http://evil.example#{HOST}", f"http://{HOST}:8443",
        f"http://evil.example/{HOST}", f"javascript://{HOST}", f"http://{HOST}\\.evil.example", f"{HOST}",
    )  # fmt: skip

    for path in (address(conversation.id), INBOX):
        for origin in foreign:
            async with Socket(path, cookie=cookie, origin=origin) as socket:
                assert (socket.connected, socket.answer) == (False, 4403), (path, origin)
        # A name of the attacker's that leads to this machine, as its page asks for it.
        rebound = Socket(path, cookie=cookie)
        rebound.ends.scope["headers"] = [
            (name, value.replace(HOST.encode(), b"evil.example")) for name, value in rebound.ends.scope["headers"]
        ]
        async with rebound as socket:
            assert not socket.connected
        async with Socket(path, cookie=cookie, origin=OWN_ORIGIN.upper().replace("HTTP", "http")) as socket:
            assert socket.connected


@pytest.mark.threat("T02", "T14")
async def test_an_address_that_is_no_socket_of_ours_is_closed(charlie: Any) -> None:
    cookie = cookie_of(await browser(charlie))

    for path in ("/ws/", "/ws/admin/", f"/ws/conversations/{uuid.uuid4()}", "/ws/conversations/1/", "/"):
        async with Socket(path, cookie=cookie) as socket:
            assert not socket.connected, (CHARLIE, path)
