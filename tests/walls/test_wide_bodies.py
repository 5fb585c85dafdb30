"""Bodies with very many parts, each of them wrong: refused by their width, before anybody tells the faults apart."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from a2a.utils.errors import A2AError

from conversations import frames
from conversations.a2a import requests as a2a
from conversations.ag_ui import requests as ag_ui
from conversations.completions import requests as completions
from conversations.completions.requests import NotAsked
from hyperagent.lib.refusals import Refused

pytestmark = pytest.mark.threat("T30")

MANY: list[Any] = [{}] * 60_000


def _older(parts: list[Any]) -> Any:
    message = {"messageId": "m", "role": "user", "parts": parts}
    return a2a.read({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}, version="")


def _newer(parts: list[Any]) -> Any:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": parts}
    return a2a.read({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}, version="")


def _front_end(messages: list[Any]) -> Any:
    return ag_ui.read({"threadId": "t", "runId": "r", "messages": messages})


def _answers(resume: list[Any]) -> Any:
    entry = {"interruptId": "x", "status": "cancelled"}
    return ag_ui.read({"threadId": "t", "runId": "r", "messages": [], "resume": [entry for _ in resume[:101]]})


def _completion(parts: list[Any]) -> Any:
    return completions.read({"model": "hyperagent", "messages": [{"role": "user", "content": parts}]})


def _frame(ids: list[Any]) -> Any:
    return frames.checked({"type": "say", "text": "Hi", "attachment_ids": ids})


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (_older, "Send less at once"),
        (_newer, "Send less at once"),
        (_front_end, "Send less at once"),
        (_answers, "At most 100 interrupts"),
        (_completion, "Send less at once"),
        (_frame, "Send less at once"),
    ],
    ids=["a2a-0.3", "a2a-1.0", "ag-ui", "ag-ui-resume", "completions", "socket"],
)
def test_a_body_of_many_parts_is_refused_as_a_whole(read: Callable[[list[Any]], Any], said: str) -> None:
    with pytest.raises((A2AError, NotAsked, Refused), match=said):
        read(MANY)


def test_a_frame_that_is_wider_than_any_plan_is_refused_before_its_texts_are_cleaned() -> None:
    with pytest.raises(Refused) as refused:
        frames.parsed(json.dumps({"type": "respond", "plan": {"tasks": [{}] * 100_001}}))

    assert "Send less at once" in refused.value.message
    assert frames.parsed(json.dumps({"type": "respond", "plan": {"tasks": [{}] * 60_000}}))["type"] == "respond"


def test_data_and_state_may_be_wide() -> None:
    rows = [[number, "some text"] for number in range(20_000)]
    data = {"kind": "data", "data": {"rows": rows}}

    asked = ag_ui.read(
        {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Hi"}], "state": rows}
    )

    assert _older([data]).method is a2a.Method.SEND
    assert asked.question == "Hi"
