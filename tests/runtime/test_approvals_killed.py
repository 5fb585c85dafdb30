"""An agent whose call is approved, denied or changed ends the same way, whatever dies between question and output."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from agents.craft.exchange import AgentInput, Options
from agents.engine.run import Program
from agents.pipeline.work import commission, work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.tools.gateway import Gateway
from hyperagent.lib.hashes import arguments_hash
from tests.doubles.lookups import MemoryLookups
from tests.doubles.memory_journal import Death
from tests.runtime.approving import SPEC, Board, by_code
from tests.tools.driving import ToolCase, case_of

GATED = SPEC.model_copy(update={"approval": "before_agent"})
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def yes(question: dict[str, Any], **more: Any) -> dict[str, Any]:
    calls = question["tool_calls"]
    return {"status": "approved", **({"arguments_hash": calls[0]["arguments_hash"]} if calls else {}), **more}


def edited(question: dict[str, Any]) -> dict[str, Any]:
    arguments = {**question["tool_calls"][0]["arguments"], "color": "red"}
    return yes(question, arguments=arguments, arguments_hash=arguments_hash("pin", arguments))


def instructed(question: dict[str, Any]) -> dict[str, Any]:
    is_new = "User Enhanced Instructions" not in question["task_description"]
    return yes(question, **({"instructions": "Add a date"} if is_new else {}))


ANSWERS: dict[str, Answer] = {
    "approved": yes,
    "denied": lambda question: {"status": "denied", "instructions": "no"},
    "edited": edited,
    "timed out": lambda question: {"status": "timed_out"},
    "instructed": instructed,
}


def case_with(board: Board, *, gated: bool, has_lookups: bool = True) -> ToolCase:
    task = AgentInput(
        agent_id="poster-1", agent_name="poster", task="Hello", tools=SPEC.tools, capable=False, options=Options()
    )

    async def root(context: AgentContext) -> Any:
        ended = await context.outcome(await context.fork("poster", commission(task)))
        return {"status": ended.status.value, "output": ended.output}

    poster = partial(work, Agent(GATED if gated else SPEC, by_code))
    gateway = Gateway(tools=board.tools())
    lookups = MemoryLookups() if has_lookups else None
    return case_of(root, gateway, others={"poster": cast("Program", poster)}, lookups=lookups)


async def test_an_agent_that_asks_before_it_begins_does_not_begin_where_there_is_nobody_to_ask() -> None:
    board = Board()

    end = await case_with(board, gated=True, has_lookups=False).drive()

    output = end.value["output"]
    assert (output["task_done"], output["error"], board.pinned) == (False, "approval_unavailable", [])


@pytest.mark.spec("B1", "B2", "B5", "S122", "S123", "S129")
@pytest.mark.threat("T19")
@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize(
    ("answer", "gated"),
    # An agent has no arguments to edit.
    [(answer, gated) for answer in ANSWERS for gated in (False, True) if (answer, gated) != ("edited", True)],
)
async def test_killed_at_every_record_the_agent_comes_to_the_same_end_with_one_effect(
    answer: str, gated: bool, death: Death
) -> None:
    """Every driver is killed at its record number `at`, and one after it goes on, until none is killed any more."""
    outcomes, at, died = set(), 0, True
    while died:
        at += 1
        board = Board()
        case = case_with(board, gated=gated)
        asked, died = 0, False
        while (end := await case.drive(death=death, at=at)).how != "completed":
            if end.how == "killed":
                died = True
                end = await case.drive()
            if end.how == "waiting":
                asked += 1
                question = case.open_requests[0].question
                case.answer(ANSWERS[answer](question))
            if end.how == "completed":
                break
        output = end.value["output"]
        told = (output["task_done"], output["error"], output["task_description"], json.dumps(output["partial_data"]))
        outcomes.add((end.how, *told, tuple(board.pinned), asked))
    assert at > 5
    ((how, done, error, task, _, pinned, asked),) = outcomes
    expected = {
        "approved": (True, None, "Hello"),
        "edited": (True, None, "Hello"),
        "denied": (False, "denied_by_user", "Hello"),
        "timed out": (False, "hitl_timeout", "Hello"),
    }
    if answer == "instructed":
        assert (how, done, error) == ("completed", True, None)
        assert task.endswith("### User Enhanced Instructions\nAdd a date")
        assert (pinned, asked) == ((task,), 2)
    else:
        assert (how, done, error, task) == ("completed", *expected[answer])
        is_let_in = answer in ("approved", "edited")
        assert (pinned, asked) == (("Hello",) if is_let_in else (), 2 if gated and is_let_in else 1)
