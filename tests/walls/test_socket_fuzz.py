"""Both sockets, sent what no client of ours would send: nothing fails behind them, every answer is a frame that stands
in the documentation, and they close by its codes only.

450 frames each; `FUZZ_EXAMPLES=200` sends 30,000.
"""

import json
import logging
import os
import uuid
from collections import Counter
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conversations import actions, frames, personal_socket
from conversations.window import BURST
from tests.faces.conftest import _quick_hashes, in_threads
from tests.faces.runs import make_agent, make_request, make_run
from tests.faces.sockets import Socket, address, browser, cookie_of

__all__ = ["_quick_hashes", "in_threads"]

pytestmark = [pytest.mark.usefixtures("in_threads"), pytest.mark.timeout(3600)]

SEED = 20261122
FRAMES = 150 * int(os.environ.get("FUZZ_EXAMPLES", "3"))
# On one connection; more would be a flood.
AT_ONCE = 40
INBOX = "/ws/inbox/"
SOME_ID = "00000000-0000-4000-8000-000000000000"
ACK = f'{{"type": "ack", "execution_id": "{SOME_ID}", "seq": SEQ}}'
# Of each frame, what it has at least: conversations/README.md.
TOLD = {
    "event": {"event"},
    "requests": {"pending"},
    "error": {"error"},
    "pong": set(),
    "said": {"message", "reply"},
    "conversation": {"conversation"},
    "follow_ups": {"message_id", "questions"},
    "unasked": {"message_id", "unasked"},
    "resync": {"execution_id"},
    "steered": {"execution_id"},
    "intervened": {"success", "agent"},
    "responded": {"request"},
    "document": {"document"},
}
# What a client's own fault may be answered with. 4500 and 4013 are ours.
THEIRS = {personal_socket.TOO_BIG, personal_socket.FLOOD, personal_socket.BAD_ADDRESS, personal_socket.NOT_THERE}

NASTY = st.sampled_from(
    [
        "",
        " ",
        "\x00",
        "a\x00b",
        "\ud800",
        "\udfff\ud800",
        "\u202e",
        "\u2066",
        "'; DROP TABLE x; --",
        "{{7*7}}",
        "%s%n",
        "9" * 400,
    ]
)
TEXT = st.one_of(NASTY, st.text(max_size=40))
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from([10**40, -1, 2**63, 1e308, float("nan"), -0.0]), TEXT
)
JSON = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)), max_leaves=12
)


def valid_frames(ids: dict[str, str]) -> list[dict[str, Any]]:
    run, agent, asked = ids["execution_id"], ids["agent_id"], ids["request_id"]
    return [
        {"type": "say", "text": "Hello", "client_id": "c1", "mode": "chat", "options": {"depth": "quick"}},
        {"type": "say", "text": "Again", "edits": ids["message_id"], "after": None, "attachment_ids": []},
        {"type": "cancel", "execution_id": run},
        {"type": "steer", "execution_id": run, "text": "Look at trains", "client_id": "c2"},
        {"type": "intervene", "agent_id": agent, "user_comment": "comment", "user_content": "x", "status": "running"},
        {
            "type": "respond",
            "request_id": asked,
            "decision": "answered",
            "text": "Yes",
            "remember": {"scope": "rule"},
            "edited_arguments": {"a": 1},
            "snooze_until": "2030-01-01T00:00:00Z",
            "plan": {"tasks": []},
        },
        {"type": "ack", "execution_id": run, "seq": 1},
        {"type": "ping"},
    ]


@st.composite
def mutated(draw: Any, known: list[dict[str, Any]]) -> str:
    """A frame that is nearly right."""
    frame: dict[str, Any] = dict(draw(st.sampled_from(known)))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from([*frame, "more"]))
        what = draw(st.sampled_from(["drop", "other id", "value", "type", "nest"]))
        if what == "drop":
            frame.pop(name, None)
        elif what == "other id":
            frame[name] = str(uuid.UUID(int=draw(st.integers(0, 2**128 - 1))))
        elif what == "type":
            frame["type"] = draw(st.one_of(TEXT, st.sampled_from([one["type"] for one in known])))
        else:
            frame[name] = draw(JSON) if what == "value" else {"more": frame.get(name)}
    return json.dumps(frame, ensure_ascii=draw(st.booleans()))


def fuzzed(known: list[dict[str, Any]]) -> list[str | bytes]:
    """The same for each run of the tests; first what is hostile by its size."""
    big = {"type": "say", "text": "a" * (frames.MAX_CHARS + 1)}
    wide = {"type": "say", "options": {str(number): number for number in range(20_000)}, "text": "x"}
    made: list[str | bytes] = [
        "[" * 100_000,
        '{"type":' * 5_000,
        json.dumps(big),
        json.dumps(wide),
        '{"type": "ping", "type": "say"}',
        ACK.replace("SEQ", "1e400"),
        ACK.replace("SEQ", "9" * 5_000),
        b"\x00\xff" * 20,
        b"",
        "",
    ]

    @seed(SEED)
    @settings(
        max_examples=FRAMES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(one=st.one_of(mutated(known), mutated(known), JSON.map(json.dumps), TEXT, st.binary(max_size=40)))
    def collect(one: str | bytes) -> None:
        made.append(one)

    collect()
    return made


def fault_of(told: dict[str, Any]) -> str:
    kind = told.get("type", "")
    if kind not in TOLD or not TOLD[kind] <= set(told):
        return f"no documented frame: {json.dumps(told)[:300]}"
    if kind != "error":
        return ""
    error = told["error"]
    if not (isinstance(error.get("code"), str) and error.get("message")) or error["code"] == "internal":
        return f"an error of another shape, or ours: {json.dumps(told)[:300]}"
    return ""


async def answers(socket: Socket, sent: list[str | bytes], kinds: Counter[str]) -> list[str]:
    """What was wrong with what the socket told until it was closed or answered a last ping."""
    for one in sent:
        text = isinstance(one, str)
        await socket.ends.send_input({"type": "websocket.receive", **({"text": one} if text else {"bytes": one})})
    await socket.ends.send_input({"type": "websocket.receive", "text": '{"type": "ping", "client_id": "last"}'})
    pings = 1 + sum(isinstance(one, str) and one.strip() == '{"type": "ping"}' for one in sent)
    faults: list[str] = []
    while pings:
        message = await socket.ends.receive_output(20)
        if message["type"] == "websocket.close":
            return [*faults, *([] if message["code"] in THEIRS else [f"closed with {message['code']}"])]
        told = json.loads(message["text"])
        kinds[told["type"]] += 1
        pings -= told["type"] == "pong"
        faults += [fault] if (fault := fault_of(told)) else []
    return faults


@sync_to_async
def furnished(alice: Any) -> dict[str, str]:
    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("First"))
    run = make_run(alice, conversation.id)
    ids = {
        "conversation_id": conversation.id,
        "message_id": said.message.id,
        "execution_id": run.id,
        "agent_id": make_agent(run).id,
        "request_id": make_request(run).request_id,
    }
    return {name: str(one) for name, one in ids.items()}


@pytest.mark.slow
@pytest.mark.threat("T02", "T34")
async def test_no_frame_makes_a_socket_fail(alice: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    ids = await furnished(alice)
    known = valid_frames(ids)
    cookie = cookie_of(await browser(alice))
    everything = fuzzed(known)
    faults: list[str] = []
    kinds: Counter[str] = Counter()

    for first in range(0, len(everything), AT_ONCE):
        batch = everything[first : first + AT_ONCE]
        for place in (address(ids["conversation_id"]), INBOX):
            async with Socket(place, cookie=cookie) as socket:
                faults += [f"{place[:20]}: {fault}" for fault in await answers(socket, batch, kinds)]

    assert faults == []
    assert set(kinds) >= {"said", "steered", "error", "pong"}, f"it reaches something: {kinds}"
    assert [
        record.getMessage() for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR
    ] == []


@pytest.mark.slow
@pytest.mark.threat("T30", "T34")
async def test_a_flood_and_what_is_beyond_every_size_close_the_socket(
    alice: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ids = await furnished(alice)
    cookie = cookie_of(await browser(alice))
    for place in (address(ids["conversation_id"]), INBOX):
        for sent, code in (
            (['{"type": "ping"}'] * 3 * int(BURST), personal_socket.FLOOD),
            (["a" * (frames.MAX_CHARS_BORNE + 1)], personal_socket.TOO_BIG),
            ([b"a" * (frames.MAX_CHARS_BORNE + 1)], personal_socket.TOO_BIG),
        ):
            async with Socket(place, cookie=cookie) as socket:
                for one in sent:
                    kind = "text" if isinstance(one, str) else "bytes"
                    await socket.ends.send_input({"type": "websocket.receive", kind: one})
                assert await socket.closed() == code

    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    "after", ["x", "[]", "[" * 5_000, '{"x":1}', f'{{"{SOME_ID}":1e99}}', f'{{"{SOME_ID}":-1}}', "%00", "%ff"]
)
async def test_an_address_that_cannot_be_meant_closes_the_socket(alice: Any, after: str) -> None:
    ids = await furnished(alice)
    cookie = cookie_of(await browser(alice))

    async with Socket(f"/ws/conversations/{ids['conversation_id']}/?after={after}", cookie=cookie) as socket:
        assert await socket.closed() == personal_socket.BAD_ADDRESS
