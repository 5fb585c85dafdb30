"""An agent's history as people read it: everything stands once, in the order in which it was said."""

from dataclasses import replace
from typing import Any

import pytest

from agents.log.agent_history import Recorded, history

Json = dict[str, Any]
SYSTEM: Json = {"role": "system", "content": "You help."}
CONTEXT: Json = {"role": "system", "content": "[Active Task Context]"}


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def calling(*ids: str, name: str = "search") -> Json:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": id_, "name": name, "arguments": "{}"} for id_ in ids],
    }


def result(id_: str, text: str) -> Json:
    return {"role": "tool", "content": text, "tool_call_id": id_}


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


def asked(number: int, *messages: Json, reply: Json | None = None, name: str = "agent") -> Recorded:
    """A call of a model, whose request begins with what the agent is told first; failed without a reply."""
    answer = None if reply is None else {"text": reply["content"], "tool_calls": reply.get("tool_calls", ())}
    return Recorded((number,), name, [SYSTEM, *messages], answer)


@pytest.mark.spec("S92")
def test_what_each_request_carries_again_stands_once() -> None:
    one, two = (user("Find the figure"), calling("1")), (result("1", "42"), calling("2"))
    steps = [
        asked(1, one[0], reply=one[1]),
        asked(3, *one, two[0], reply=two[1]),
        asked(5, *one, *two, result("2", "43"), reply=said("It is 43.")),
    ]
    with_context = [replace(step, asked=[*(step.asked or ()), CONTEXT]) for step in steps]

    assert history("Find the figure", with_context) == history("Find the figure", steps)
    assert history("Find the figure", steps) == [*one, *two, result("2", "43"), said("It is 43.")]


def test_each_call_of_an_agent_that_goes_through_steps_has_its_own_question_and_answer() -> None:
    steps = [
        Recorded((1,), "analyze", [SYSTEM, user("Write on ants")], {"value": {"words": 300}, "usage": {}}),
        asked(2, user("Write on ants\nAssignment"), reply=said("1. Ants")),
        asked(3, user("Write on ants\nAssignment\nOutline"), reply=said("Ants are small.")),
    ]

    told = history("Write on ants", steps)

    assert [message["role"] for message in told] == ["user", "assistant"] * 3
    assert told[1]["content"] == {"words": 300}
    assert told[-1]["content"] == "Ants are small."


def test_an_equal_call_and_an_equal_result_stand_as_often_as_they_came() -> None:
    task, call, found = user("Find it"), calling("1"), result("1", "nothing")
    steps = [
        asked(1, task, reply=call),
        asked(3, task, call, found, reply=call),
        asked(5, task, call, found, call, found, reply=said("There is nothing.")),
    ]

    assert history("Find it", steps) == [task, call, found, call, found, said("There is nothing.")]


def test_what_was_summarised_is_not_left_out_and_does_not_come_again() -> None:
    task, call = user("Find it"), calling("1")
    summary = {"role": "system", "content": "[Summary of the conversation so far]"}
    steps = [
        asked(1, user("old"), task, reply=call),
        asked(3, summary, task, call, result("1", "42"), reply=said("42")),
    ]

    assert history("Find it", steps) == [user("old"), task, call, result("1", "42"), said("42")]


def test_a_call_that_failed_is_told_without_a_reply_and_its_question_once() -> None:
    task, again = user("Find it"), user("[System notice] Your last answer was empty.")
    steps = [asked(1, task), asked(2, task, again, reply=said("42"))]

    assert history("Find it", steps) == [task, again, said("42")]


def test_the_task_stands_first_where_no_model_was_told_it_in_its_words() -> None:
    assert history("Find it", []) == [user("Find it")]
    assert history("Find it", [asked(1, user("Which words?"), reply=said("figure"))]) == [
        user("Find it"), user("Which words?"), said("figure"),
    ]  # fmt: skip
    assert history("", []) == []


def test_what_tools_gave_to_the_last_reply_is_told_before_the_model_hears_of_it() -> None:
    task, call = user("Find it"), calling("a", "b", "c")
    tools = [
        Recorded((1, 4, 1, 2), "search", None, {"content": "second"}),
        Recorded((1, 4, 2, 1), "look_up", None, {"content": "another tool's, within the third call"}),
        Recorded((1, 5), "search", None, {"content": "the agent's own code's"}),
    ]
    steps = [Recorded((1, 3), "agent", [SYSTEM, task], {"text": "", "tool_calls": call["tool_calls"]}), *tools]

    assert history("Find it", steps) == [task, call, result("b", "second")]
