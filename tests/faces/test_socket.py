"""The conversation's socket: who may open it, what it tells, what it takes, and what it forgives."""

import json
import uuid
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from agents.engine.events import Complete, Token
from agents.models import Execution, Intervention
from conversations import actions
from conversations.models import Conversation, Message
from hitl import sweeping
from hitl.models import Request
from hyperagent.accounts import actions as accounts
from hyperagent.accounts import people
from hyperagent.lib.announcing import publish
from tests.faces.conftest import token_of
from tests.faces.runs import append, make_agent, make_request, make_run, make_step, tell, tokens
from tests.faces.sockets import Socket, address, browser, cookie_of

pytestmark = pytest.mark.usefixtures("in_threads")

create = sync_to_async(actions.create)
run_of = sync_to_async(make_run)
agent_of = sync_to_async(make_agent)
ask = sync_to_async(make_request)
write = sync_to_async(append)
announce = sync_to_async(tell)


@pytest.fixture
async def conversation(in_threads: None, alice: Any) -> Conversation:
    return await create(alice)


@pytest.fixture
async def alices_cookie(in_threads: None, alice: Any) -> str:
    return cookie_of(await browser(alice))


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://testserver.evil.example",
        "http://evil-testserver",
        "file://testserver",
        "http://[",
        None,
    ],
)
@pytest.mark.threat("T14")
async def test_a_page_of_another_origin_gets_no_socket_on_alices_cookie(
    alices_cookie: str, conversation: Conversation, origin: str | None
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie, origin=origin) as socket:
        assert (socket.connected, socket.answer) == (False, 4403)


async def test_a_program_with_a_token_needs_no_origin(alice: Any, conversation: Conversation) -> None:
    token = await sync_to_async(token_of)(alice)

    async with Socket(address(conversation.id), token=token, origin=None) as socket:
        await socket.send(type="ping")

        assert socket.answer == f"bearer.{token}"
        assert await socket.frame() == {"type": "pong"}


@pytest.mark.threat("T14")
@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [
        ("https://agents.example.org", True),
        ("https://agents.example.org:8443", False),
        ("http://agents.example.org", False),
        ("https://agents.example.org.evil.example", False),
        ("https://evil-example.org", False),
        ("https://evil.example/.example.org", False),
    ],
)
@pytest.mark.threat("T14")
async def test_origins_below_a_trusted_name_are_those_of_forms(
    alices_cookie: str, conversation: Conversation, origin: str, is_let_in: bool, settings: Any
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org"]

    async with Socket(address(conversation.id), cookie=alices_cookie, origin=origin) as socket:
        assert socket.connected == is_let_in


@pytest.mark.parametrize("origin", ["http://other.example", "null", "file://"])
async def test_a_page_of_another_origin_comes_in_by_a_token_alone(
    alice: Any, alices_cookie: str, conversation: Conversation, origin: str
) -> None:
    token = await sync_to_async(token_of)(alice)

    async with Socket(address(conversation.id), token=token, origin=origin) as socket:
        await socket.send(type="ping")
        assert await socket.frame() == {"type": "pong"}
    async with Socket(address(conversation.id), token="ha_made_up", cookie=alices_cookie, origin=origin) as socket:
        assert await socket.closed() == 4401


@pytest.mark.parametrize("cookie", [None, "sessionid=unknown", "sessionid=\x01;=;"])
async def test_without_a_session_the_socket_is_closed(conversation: Conversation, cookie: str | None) -> None:
    async with Socket(address(conversation.id), cookie=cookie) as socket:
        assert await socket.closed() == 4401


async def test_an_unknown_token_is_closed(conversation: Conversation) -> None:
    async with Socket(address(conversation.id), token="ha_" + "x" * 43) as socket:
        assert await socket.closed() == 4401


async def test_a_token_without_the_scope_read_is_closed(alice: Any, conversation: Conversation) -> None:
    token = await sync_to_async(token_of)(alice, scopes=["run"])

    async with Socket(address(conversation.id), token=token) as socket:
        assert await socket.closed() == 4403


@pytest.mark.parametrize("whose", ["alices", "nobodys", "deleted"])
@pytest.mark.threat("T02")
async def test_charlie_gets_the_same_answer_for_alices_conversation_and_for_none(
    alice: Any, charlie: Any, conversation: Conversation, whose: str
) -> None:
    cookie = cookie_of(await browser(charlie))
    own = await create(charlie)
    await sync_to_async(actions.delete)(charlie, own.id)
    wanted = {"alices": conversation.id, "nobodys": uuid.uuid4(), "deleted": own.id}[whose]

    async with Socket(address(wanted), cookie=cookie) as socket:
        assert await socket.closed() == 4404


async def test_an_unknown_address_is_refused_quietly(alices_cookie: str) -> None:
    async with Socket("/ws/nowhere/", cookie=alices_cookie) as socket:
        assert not socket.connected


async def test_a_question_is_said_once_and_shown_in_every_tab(alices_cookie: str, conversation: Conversation) -> None:
    async with (
        Socket(address(conversation.id), cookie=alices_cookie) as tab,
        Socket(address(conversation.id), cookie=alices_cookie) as other,
    ):
        await tab.send(type="say", text="Hi there", client_id="c1")
        here, there = await tab.frame("said"), await other.frame("said")

        assert here == there
        assert (here["message"]["text"], here["client_id"]) == ("Hi there", "c1")
        assert here["reply"]["execution"]["status"] == "pending"
        for one in (tab, other):
            await one.send(type="ping")
            assert (await one.frame("said", "pong"))["type"] == "pong"


async def test_a_question_that_is_said_again_is_answered_each_time_and_announced_once(
    alices_cookie: str, conversation: Conversation
) -> None:
    async with (
        Socket(address(conversation.id), cookie=alices_cookie) as tab,
        Socket(address(conversation.id), cookie=alices_cookie) as other,
    ):
        await tab.send(type="say", text="Hi there", client_id="c1")
        first = await tab.frame("said")
        await other.frame("said")

        for _ in range(2):
            await tab.send(type="say", text="Hi there", client_id="c1")
            assert await tab.frame("said") == first
        await other.send(type="say", text="Hi there", client_id="c1")
        assert await other.frame("said") == first

        for one in (tab, other):
            await one.send(type="ping")
            assert (await one.frame("said", "pong"))["type"] == "pong"
        assert await Execution.objects.acount() == 1


async def test_a_tab_that_lost_the_answer_hears_again_what_it_had_said(
    alices_cookie: str, conversation: Conversation
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as tab:
        await tab.send(type="say", text="Hi there", client_id="c1")
        first = await tab.frame("said")

    async with Socket(address(conversation.id), cookie=alices_cookie) as tab:
        await tab.send(type="say", text="Hi there", client_id="c1")

        assert await tab.frame("said") == first


async def test_the_first_question_names_the_conversation_in_every_tab(
    alices_cookie: str, conversation: Conversation
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as tab:
        await tab.send(type="say", text="What is a Kahn sort?")

        assert (await tab.frame("conversation"))["conversation"]["title"] == "What is a Kahn sort?"


async def test_events_come_in_order_whether_they_were_there_or_are_announced(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    await write(run, *tokens("a", "b", "c"))

    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        there = await socket.events(3)
        await announce(run, *tokens("d", "e"))
        await announce(run, Complete(answer="abcde"))
        came = await socket.events(3)

    assert [event["seq"] for event in there + came] == [1, 2, 3, 4, 5, 6]
    assert "".join(event.get("content", "") for event in there + came) == "abcde"
    assert came[-1]["type"] == "complete"


async def test_a_client_that_comes_back_gets_what_it_does_not_have_and_nothing_twice(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    await write(run, *tokens("a", "b", "c"), Complete(answer="abc"))

    async with Socket(address(conversation.id, {run.id: 2}), cookie=alices_cookie) as socket:
        assert [event["seq"] for event in await socket.events(2)] == [3, 4]
        assert await socket.says_nothing()


async def test_an_announcement_that_was_lost_is_made_good_from_the_table(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        await announce(run, *tokens("a"))
        await socket.events(1)

        await write(run, *tokens("lost", "too"))
        await announce(run, *tokens("d", "e"))

        assert [event["seq"] for event in await socket.events(4)] == [2, 3, 4, 5]


async def test_what_is_announced_twice_is_told_once(alice: Any, alices_cookie: str, conversation: Conversation) -> None:
    run = await run_of(alice, conversation.id)
    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        first = await write(run, *tokens("a", "b"))
        second = await write(run, *tokens("c"))
        both = {**second, "first": 1, "bodies": first["bodies"] + second["bodies"]}
        for message in (first, both, second, first):
            await sync_to_async(publish)(run.group_name, message)

        assert [event["seq"] for event in await socket.events(3)] == [1, 2, 3]
        assert await socket.says_nothing()


@pytest.mark.slow
async def test_without_any_announcement_the_table_is_looked_at(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(type="ping")
        await socket.frame("pong")
        short, long = await run_of(alice, conversation.id), await run_of(alice, conversation.id)
        await write(short, *tokens("a", "b"), Complete(answer="ab"))
        await write(long, *tokens("x"))

        seen = await socket.events(4)
        await write(long, Complete(answer="x"))
        last = (await socket.events(1))[0]

    assert [event["seq"] for event in seen if event["execution_id"] == str(short.id)] == [1, 2, 3]
    assert (last["execution_id"], last["type"]) == (str(long.id), "complete")


async def test_numbers_that_the_table_does_not_know_make_the_client_forget(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    await write(run, *tokens("a", "b"))

    async with Socket(address(conversation.id, {run.id: 9}), cookie=alices_cookie) as socket:
        assert await socket.frame() == {"type": "resync", "execution_id": str(run.id)}
        assert [event["seq"] for event in await socket.events(2)] == [1, 2]


@pytest.mark.slow
async def test_a_log_that_lost_its_end_under_a_socket_is_told_anew(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        await announce(run, *tokens("a", "b", "c"))
        await socket.events(3)

        await run.events.filter(seq__gt=1).adelete()

        assert (await socket.frame())["type"] == "resync"
        assert (await socket.events(1))[0]["content"] == "a"


@pytest.mark.spec("B9", "B10")
@pytest.mark.parametrize("unheard", [["B"], ["B", "C"], ["B", "C", "D"]], ids=len)
async def test_a_log_that_lost_its_end_and_went_on_unheard_is_told_anew(
    alice: Any, alices_cookie: str, conversation: Conversation, unheard: list[str]
) -> None:
    """Postgres dies, and Redis with it: what is said anew is shorter than what was lost, as long, or longer."""
    run = await run_of(alice, conversation.id)
    run.epoch = 1
    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        await announce(run, *tokens("a", "b", "c"))
        await socket.events(3)
        await run.events.filter(seq__gt=1).adelete()
        run.last_seq, run.epoch = 1, 2

        await write(run, *tokens(*unheard))
        await announce(run, *tokens("end"))

        assert await socket.frame() == {"type": "resync", "execution_id": str(run.id)}
        words = ["a", *unheard, "end"]
        assert [event["content"] for event in await socket.events(len(words))] == words


@pytest.mark.spec("B9", "B10")
@pytest.mark.parametrize("is_another", [False, True], ids=["the same", "another"])
async def test_who_comes_back_says_when_its_last_event_was_and_is_told_if_another_has_its_number(
    alice: Any, alices_cookie: str, conversation: Conversation, is_another: bool
) -> None:
    run = await run_of(alice, conversation.id)
    message = await write(run, *tokens("a", "b", "c"))
    at_ms = json.loads(message["bodies"][1])["timestamp"] - is_another
    where = f"{address(conversation.id, {run.id: 2})}&at={quote(json.dumps({str(run.id): at_ms}))}"

    async with Socket(where, cookie=alices_cookie) as socket:
        if is_another:
            assert await socket.frame() == {"type": "resync", "execution_id": str(run.id)}
        words = ["a", "b", "c"] if is_another else ["c"]
        assert [event["content"] for event in await socket.events(len(words))] == words
        assert await socket.says_nothing()


@pytest.mark.threat("T02")
async def test_anothers_run_is_not_told_even_if_its_id_is_named(
    alice: Any, charlie: Any, conversation: Conversation
) -> None:
    foreign = await run_of(alice, conversation.id)
    await write(foreign, *tokens("secret"))
    own = await create(charlie)

    async with Socket(address(own.id, {foreign.id: 0}), cookie=cookie_of(await browser(charlie))) as socket:
        await announce(foreign, *tokens("secret"))
        assert await socket.says_nothing()


async def test_a_run_is_cancelled_from_the_socket(alice: Any, alices_cookie: str, conversation: Conversation) -> None:
    run = await run_of(alice, conversation.id)
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(type="cancel", execution_id=str(run.id))
        await socket.send(type="ping")
        await socket.frame("pong")

    assert (await Execution.objects.aget(id=run.id)).cancel_requested_at is not None


@pytest.mark.parametrize("kind", ["cancel", "steer"])
@pytest.mark.threat("T02")
async def test_charlie_reaches_no_run_of_alice_from_a_socket_of_his_own(
    alice: Any, charlie: Any, conversation: Conversation, kind: str
) -> None:
    run = await run_of(alice, conversation.id)
    own = await create(charlie)

    async with Socket(address(own.id), cookie=cookie_of(await browser(charlie))) as socket:
        await socket.send(type=kind, execution_id=str(run.id), text="stop it")

        assert (await socket.frame("error"))["error"]["code"] == "not_found"
    assert (await Execution.objects.aget(id=run.id)).cancel_requested_at is None


@pytest.mark.spec("S119", "S112")
async def test_a_question_is_answered_from_the_socket_once(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id, status="awaiting_user")
    asked = await ask(run, "decision", question={"question": "Which?", "options": ["Rome", "Paris"]})
    said = {"type": "respond", "request_id": str(asked.request_id), "decision": "answered", "client_id": "c3"}

    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(**said, choice="Berlin")
        refused = await socket.frame("error")
        await socket.send(**said, choice="Rome")
        done = await socket.frame("responded")
        await socket.send(**said, choice="Rome")
        again = await socket.frame("responded")
        await socket.send(**said, choice="Paris")
        late = await socket.frame("error")

    assert (refused["client_id"], refused["request_id"]) == ("c3", str(asked.request_id))
    assert "Rome, Paris" in refused["error"]["message"]
    assert (done["request"]["status"], done["request"]["answer"], done["client_id"]) == (
        "answered",
        {"choice": "Rome"},
        "c3",
    )
    assert again == done
    assert (late["error"]["code"], late["error"]["request"]["status"]) == ("already_decided", "answered")
    assert (await Execution.objects.aget(id=run.id)).woken_at is not None


@pytest.mark.spec("S94", "B15")
async def test_an_agent_is_changed_and_a_run_is_steered_from_the_socket(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    root = await agent_of(run, "turn")
    agent, over = await agent_of(run, "web", parent=root), await agent_of(run, "web", parent=root, status="failed")
    used = {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": "0.25"}
    await sync_to_async(make_step)(agent, [1], "model", "search", usage=used)

    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(type="intervene", agent_id=str(agent.id), user_content="In the archive", client_id="c1")
        done = await socket.frame()
        await socket.send(type="intervene", agent_id=str(over.id), user_comment="delete")
        refused = await socket.frame()
        await socket.send(type="steer", execution_id=str(run.id), text="Shorter", client_id="c2")
        steered = await socket.frame()
        await socket.send(type="steer", execution_id=str(run.id), text="Shorter", client_id="c2")
        assert await socket.frame() == steered
        await socket.send(type="steer", execution_id=str(run.id), text=" ")
        empty = await socket.frame()

    assert (done["type"], done["success"], done["client_id"]) == ("intervened", True, "c1")
    assert (done["agent"]["agent_id"], done["agent"]["user_content"]) == (str(agent.id), "In the archive")
    assert done["agent"]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.25}
    assert (refused["type"], refused["error"]["code"], refused["agent_id"]) == ("error", "agent_is_over", str(over.id))
    assert steered == {"type": "steered", "execution_id": str(run.id), "client_id": "c2"}
    assert (empty["type"], empty["error"]["code"]) == ("error", "invalid")
    wishes = [(wish.kind, wish.text) async for wish in Intervention.objects.all()]
    assert wishes == [("modify", "In the archive"), ("steer", "Shorter")]


@pytest.mark.threat("T02")
async def test_each_word_on_the_socket_needs_its_scope(alice: Any, conversation: Conversation) -> None:
    run = await run_of(alice, conversation.id)
    asked = await ask(run)
    answer = {"type": "respond", "request_id": str(asked.request_id), "decision": "denied"}
    steer = {"type": "steer", "execution_id": str(run.id), "text": "Shorter"}

    for scopes, refused, done in ((["read", "run"], answer, steer), (["read", "approve"], steer, answer)):
        token = await sync_to_async(token_of)(alice, scopes=scopes)
        async with Socket(address(conversation.id), token=token, origin=None) as socket:
            await socket.send(**refused)
            assert (await socket.frame())["error"]["code"] == "scope_missing"
            await socket.send(**done)
            assert (await socket.frame())["type"] in {"steered", "responded"}


@pytest.mark.threat("T02")
async def test_what_belongs_to_another_conversation_is_not_there_on_this_socket(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    elsewhere = await run_of(alice, (await create(alice)).id)
    agent, asked = await agent_of(elsewhere), await ask(elsewhere)

    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(type="intervene", agent_id=str(agent.id), user_comment="delete")
        first = await socket.frame()
        await socket.send(type="respond", request_id=str(asked.request_id), decision="denied")
        second = await socket.frame()

    assert first["error"]["code"] == second["error"]["code"] == "not_found"


async def test_a_question_on_the_socket_says_what_its_run_shall_be_like(
    alices_cookie: str, conversation: Conversation
) -> None:
    options = {"depth": "quick", "scenario": "news", "execution_mode": "standard", "show_plan": True}
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(type="say", text="What is new?", options=options)
        await socket.frame("said")

    assert (await Execution.objects.aget()).input["options"] == options


@pytest.mark.slow
@pytest.mark.spec("B3")
async def test_a_socket_tells_how_many_requests_wait_when_that_changes(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        asked = await ask(await run_of(alice))
        assert await socket.frame("requests") == {"type": "requests", "pending": 1}
        await Request.objects.filter(pk=asked.pk).aupdate(status="answered")
        assert await socket.frame("requests") == {"type": "requests", "pending": 0}


async def log_out(alice: Any, client: Client) -> None:
    await sync_to_async(client.logout)()


async def deactivate(alice: Any, client: Client) -> None:
    await sync_to_async(people.deactivate)(None, alice.pk)


async def change_password(alice: Any, client: Client) -> None:
    await sync_to_async(accounts.change_password)(alice, "an entirely different sentence", by=alice)


@pytest.mark.spec("S160")
@pytest.mark.parametrize("end", [log_out, deactivate, change_password])
@pytest.mark.threat("T25")
async def test_the_socket_is_closed_within_five_seconds_of_the_sessions_end(
    alice: Any, conversation: Conversation, end: Any
) -> None:
    client = await browser(alice)
    async with Socket(address(conversation.id), cookie=cookie_of(client)) as socket:
        await end(alice, client)

        assert await socket.closed(timeout_s=5) == 4401


@pytest.mark.threat("T25")
async def test_the_socket_of_a_token_is_closed_when_the_token_is_revoked(
    alice: Any, conversation: Conversation
) -> None:
    token, raw = await sync_to_async(accounts.make_token)(alice)
    async with Socket(address(conversation.id), token=raw, origin=None) as socket:
        await sync_to_async(accounts.revoke_token)(alice, token.id)

        assert await socket.closed(timeout_s=5) == 4401


@pytest.mark.slow
@pytest.mark.threat("T25")
async def test_the_socket_of_a_token_is_closed_when_the_password_changes(
    alice: Any, conversation: Conversation
) -> None:
    _, raw = await sync_to_async(accounts.make_token)(alice)
    async with Socket(address(conversation.id), token=raw, origin=None) as socket:
        await sync_to_async(accounts.change_password)(alice, "a quite different sentence", by=alice)

        assert await socket.closed(timeout_s=5) == 4401


@pytest.mark.threat("T25")
async def test_nothing_is_said_on_a_socket_whose_session_has_just_ended(alice: Any, conversation: Conversation) -> None:
    client = await browser(alice)
    async with Socket(address(conversation.id), cookie=cookie_of(client)) as socket:
        await sync_to_async(client.logout)()
        await socket.send(type="say", text="Still me?")

        assert await socket.closed() == 4401
    assert await Message.objects.acount() == 0


async def test_a_deleted_conversation_closes_its_sockets(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await sync_to_async(actions.delete)(alice, conversation.id)

        assert await socket.closed(timeout_s=5) == 4404


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "not_json"),
        ("[1]", "not_json"),
        ('{"type": "dance"}', "unknown_type"),
        ("{}", "unknown_type"),
        ('{"type": "say"}', "invalid"),
        ('{"type": "say", "text": 5}', "invalid"),
        ('{"type": "say", "text": ""}', "question_empty"),
        ('{"type": "say", "text": "\\u200b"}', "question_empty"),
        ('{"type": "say", "text": "Hi", "mode": "juggling"}', "unknown_mode"),
        ('{"type": "cancel", "execution_id": "1"}', "invalid"),
        ('{"type": "say", "text": "Hi", "options": {"depth": "bottomless"}}', "invalid"),
        ('{"type": "say", "text": "Hi", "options": "deep"}', "invalid"),
        ('{"type": "say", "text": "Hi", "options": {"model": "gpt-9"}}', "invalid"),
        ('{"type": "steer", "text": "Hi"}', "invalid"),
        ('{"type": "intervene", "agent_id": "mine"}', "invalid"),
        ('{"type": "respond", "request_id": "1", "decision": "denied"}', "invalid"),
        ('{"type": "respond", "request_id": "9d1c4f0e-0000-4000-8000-000000000000", "decision": "maybe"}', "invalid"),
        (
            '{"type": "respond", "request_id": "9d1c4f0e-0000-4000-8000-000000000000", "decision": "denied"}',
            "not_found",
        ),
        ('{"type": "say", "text": "' + "x" * 300_000 + '"}', "question_too_long"),
        ('{"type": "say", "text": "' + "x" * 1_000_000 + '"}', "message_too_long"),
        ("[" * 100_000, "not_json"),
        ('{"type": "ping", "x": ' + "[" * 700 + "]" * 700 + "}", "not_json"),
    ],
)
async def test_what_cannot_be_understood_is_answered_and_the_socket_stays_open(
    alices_cookie: str, conversation: Conversation, text: str, code: str
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.ends.send_to(text_data=text)
        error = await socket.frame("error")
        await socket.send(type="ping")

        assert error["error"]["code"] == code
        assert error["error"]["message"]
        assert await socket.frame() == {"type": "pong"}


async def test_a_refused_question_names_its_client_id(alices_cookie: str, conversation: Conversation) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(type="say", text=" ", client_id="c7")

        assert (await socket.frame("error"))["client_id"] == "c7"


@pytest.mark.parametrize("frame", [{"type": "say"}, {"type": "shout"}, {"type": "cancel", "execution_id": "x"}])
async def test_a_message_that_cannot_be_meant_is_refused_under_its_client_id(
    alices_cookie: str, conversation: Conversation, frame: dict[str, str]
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.send(**frame, client_id="abc")
        await socket.send(**frame, client_id=["abc"])
        await socket.send(**frame, client_id="x" * 101)

        told = [await socket.frame("error") for _ in range(3)]

    assert [one.get("client_id") for one in told] == ["abc", None, None]


async def test_a_binary_frame_is_told_that_text_is_expected_and_closes_nothing(
    alices_cookie: str, conversation: Conversation
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.ends.send_to(bytes_data=b'{"type": "ping"}')
        told = await socket.frame()
        await socket.send(type="ping")

        assert (told["type"], told["error"]["code"]) == ("error", "not_text")
        assert await socket.frame() == {"type": "pong"}


@pytest.mark.parametrize(("frame", "times", "code"), [(b"x", 60, 4029), (b"x" * 11_000_000, 1, 4009)])
async def test_binary_frames_are_borne_no_longer_than_others(
    alices_cookie: str, conversation: Conversation, frame: bytes, times: int, code: int
) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        for _ in range(times):
            await socket.ends.send_to(bytes_data=frame)

        assert await socket.closed() == code


async def test_eleven_megabytes_close_the_socket(alices_cookie: str, conversation: Conversation) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        await socket.ends.send_to(text_data="x" * 11_000_000)

        assert await socket.closed() == 4009


async def test_a_flood_closes_the_socket(alices_cookie: str, conversation: Conversation) -> None:
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        for _ in range(60):
            await socket.ends.send_to(text_data="nonsense")

        assert await socket.closed() == 4029


@pytest.mark.parametrize("after", ["nonsense", "[]", '{"x": 1}', "{%22" + str(uuid.UUID(int=1)) + "%22:-1}", "5"])
@pytest.mark.parametrize("name", ["after", "at"])
async def test_numbers_that_are_none_are_refused(
    alices_cookie: str, conversation: Conversation, name: str, after: str
) -> None:
    async with Socket(f"/ws/conversations/{conversation.id}/?{name}={after}", cookie=alices_cookie) as socket:
        assert (await socket.frame())["error"]["code"] == f"bad_{name}"
        assert await socket.closed() == 4400


async def test_of_numbers_that_are_given_twice_the_last_count(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    await write(run, *tokens("a", "b"))
    twice = f"{address(conversation.id, {run.id: 2})}&after={{%22{run.id}%22:1}}"

    async with Socket(twice, cookie=alices_cookie) as socket:
        assert [event["seq"] for event in await socket.events(1)] == [2]


async def test_who_acknowledges_nothing_more_gets_two_hundred_events_and_goes_on_with_the_next_word(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        await announce(run, *tokens("first"))
        await socket.events(1)
        await socket.send(type="ack", execution_id=str(run.id), seq=1)
        await socket.send(type="ping")
        await socket.frame("pong")

        await announce(run, *tokens(*"x" * 500))
        window = await socket.events(200)
        assert await socket.says_nothing()
        await socket.send(type="ack", execution_id=str(run.id), seq=201)
        more = await socket.events(200)
        await socket.send(type="ack", execution_id=str(run.id), seq=401)
        rest = await socket.events(100)

    assert [event["seq"] for event in window + more + rest] == list(range(2, 502))


async def test_who_falls_silent_with_a_full_window_is_closed_to_come_back(
    alice: Any, alices_cookie: str, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conversations.consumers.STALLED_S", 0.5)
    run = await run_of(alice, conversation.id)
    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        await announce(run, *tokens("first"))
        await socket.events(1)
        await socket.send(type="ack", execution_id=str(run.id), seq=1)

        await announce(run, *tokens(*"x" * 500))

        assert await socket.closed() == 4008


async def test_who_never_says_a_word_is_closed_after_two_megabytes(
    alice: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id)
    await write(run, *[Token(content="x" * 100_000) for _ in range(30)])

    async with Socket(address(conversation.id, {}), cookie=alices_cookie) as socket:
        got = await socket.events(20)
        assert await socket.closed() == 4008
    async with Socket(address(conversation.id, {run.id: 20}), cookie=alices_cookie) as socket:
        got += await socket.events(10)

    assert [event["seq"] for event in got] == list(range(1, 31))


async def test_text_of_every_kind_comes_back_as_it_was(alices_cookie: str, conversation: Conversation) -> None:
    texts = [
        "\u202eright to left",
        "😀" * 10_000,
        "مرحبا",
        "a\u200bb",
        "e\u0301",
        "<script>alert(1)</script>",
        "a\r\nb\tc",
    ]
    async with Socket(address(conversation.id), cookie=alices_cookie) as socket:
        for text in texts:
            await socket.send(type="say", text=text)
            assert (await socket.frame("said"))["message"]["text"] == text

        await socket.ends.send_to(text_data=json.dumps({"type": "say", "text": "nul \x00 and half \ud83d"}))
        assert (await socket.frame("said"))["message"]["text"] == "nul \ufffd and half \ufffd"


@pytest.mark.slow
@pytest.mark.spec("B3")
async def test_the_inbox_tells_alice_how_many_requests_wait_for_her_and_charlie_of_none(
    alice: Any, charlie: Any, alices_cookie: str
) -> None:
    run = await run_of(alice)
    charlies_cookie = cookie_of(await browser(charlie))
    async with (
        Socket("/ws/inbox/", cookie=alices_cookie) as inbox,
        Socket("/ws/inbox/", cookie=charlies_cookie) as charlies_inbox,
    ):
        assert await inbox.frame() == await charlies_inbox.frame() == {"type": "requests", "pending": 0}

        asked = await Request.objects.acreate(
            execution_id=run.id, agent_id=run.id, agent_name="chat", user=alice, kind="input", question={"text": "?"}
        )
        assert await inbox.frame() == {"type": "requests", "pending": 1}
        await Request.objects.filter(pk=asked.pk).aupdate(status="answered")
        assert await inbox.frame() == {"type": "requests", "pending": 0}

        await charlies_inbox.send(type="ping")
        assert await charlies_inbox.frame() == {"type": "pong"}
        await inbox.send(type="say", text="Hi")
        assert (await inbox.frame())["error"]["code"] == "not_here"


@pytest.mark.spec("B3", "S119", "S94", "B16")
async def test_on_the_inbox_a_person_answers_what_their_runs_ask_and_speaks_to_them(
    alice: Any, charlie: Any, alices_cookie: str, conversation: Conversation
) -> None:
    run = await run_of(alice, conversation.id, status="awaiting_user")
    agent = await agent_of(run, "web", parent=await agent_of(run, "turn"))
    asked = await ask(run, "decision", question={"question": "Which?", "options": ["Rome", "Paris"]})
    about_run = {"execution_id": str(run.id)}
    said = [
        {"type": "steer", **about_run, "text": "Shorter"},
        {"type": "intervene", "agent_id": str(agent.id), "user_content": "In the archive"},
        {"type": "respond", "request_id": str(asked.request_id), "decision": "answered", "choice": "Rome"},
        {"type": "cancel", **about_run},
    ]
    charlies_cookie = cookie_of(await browser(charlie))

    async with Socket("/ws/inbox/", cookie=charlies_cookie) as inbox:
        for frame in said:
            await inbox.send(**frame)
            assert (await inbox.frame("error"))["error"]["code"] == "not_found"
    async with Socket("/ws/inbox/", cookie=alices_cookie) as inbox:
        for frame in said:
            await inbox.send(**frame)
        steered, intervened, responded = [await inbox.frame(kind) for kind in ("steered", "intervened", "responded")]
        await inbox.send(type="ping")
        await inbox.frame("pong")

    assert steered == {"type": "steered", **about_run}
    assert (intervened["success"], intervened["agent"]["agent_id"]) == (True, str(agent.id))
    assert responded["request"]["answer"] == {"choice": "Rome"}
    assert (await Execution.objects.aget(id=run.id)).cancel_requested_at is not None


@pytest.mark.spec("B6", "S111")
async def test_a_reminder_reaches_the_open_inbox_of_who_may_decide_and_nobody_elses(
    alice: Any, charlie: Any, alices_cookie: str
) -> None:
    run = await run_of(alice)
    now = timezone.now()
    charlies_cookie = cookie_of(await browser(charlie))
    async with (
        Socket("/ws/inbox/", cookie=alices_cookie) as inbox,
        Socket("/ws/inbox/", cookie=charlies_cookie) as charlies_inbox,
    ):
        await inbox.frame("requests")
        await charlies_inbox.frame("requests")
        asked = await Request.objects.acreate(
            execution_id=run.id, agent_id=run.id, agent_name="chat", user=alice, kind="input",
            question={"question": "Which year?"}, announced_at=now, remind_at=now,
        )  # fmt: skip

        assert await sync_to_async(sweeping.sweep)() == 1

        reminder = await inbox.frame("reminder")
        assert (reminder["request_id"], reminder["title"]) == (str(asked.pk), "Which year?")
        assert await charlies_inbox.says_nothing()


@pytest.mark.slow
@pytest.mark.threat("T25")
async def test_the_inbox_closes_with_the_session(alice: Any) -> None:
    client = await browser(alice)
    async with Socket("/ws/inbox/", cookie=cookie_of(client)) as inbox:
        await log_out(alice, client)

        assert await inbox.closed(timeout_s=5) == 4401
    async with Socket("/ws/inbox/") as inbox:
        assert await inbox.closed() == 4401
