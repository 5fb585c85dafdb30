"""What people see of a question: who waits for them, what is asked, and how it ended; each told once."""

from typing import Any

import pytest

from agents.engine.context import Context
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case


def statuses(case: Case) -> dict[str, str]:
    return {agent.lineage: agent.status.value for agent in case.store.agents(case.execution_id)}


@pytest.mark.spec("S95", "S96", "S110")
async def test_only_the_agent_that_asks_is_awaiting_and_runs_again_after_its_last_answer() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        return await ctx.all(lambda c: c.ask("input", {"question": "a"}), lambda c: c.ask("input", {"question": "b"}))

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", None))

    case = Case({"root": root, "child": child})
    await case.drive()
    assert statuses(case) == {"root": "running", "root.child-0": "awaiting_user"}
    case.answer("1")
    await case.drive()
    assert statuses(case)["root.child-0"] == "awaiting_user"
    case.answer("2")
    await case.drive()

    seen = [event["status"] for event in case.events("agent_state") if event["agent_name"] == "child"]
    assert seen == ["running", "awaiting_user", "running", "completed"]


@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("at", range(1, 8))
async def test_a_question_and_its_answer_are_told_once_over_any_kill(death: Death, at: int) -> None:
    question = {"question": "Which?", "options": ["a", "b"], "why": "two fit", "timeout_seconds": 30}

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.ask("decision", question)

    case = Case({"root": root})
    await case.drive(death=death, at=at)
    await case.drive()
    for asked in case.open_requests:
        case.store.answer(asked.request_id, {"status": "answered", "choice": "a"})
    await case.drive(death=death, at=at)
    end = await case.drive()

    assert end.value == {"status": "answered", "choice": "a"}
    (opened,), (closed,) = case.events("interrupt"), case.events("interrupt_response")
    assert (opened["kind"], opened["question"], opened["options"]) == ("decision", "Which?", ["a", "b"])
    assert (opened["details"], opened["timeout_seconds"]) == ({"why": "two fit"}, 30)
    assert (closed["request_id"], closed["status"]) == (opened["request_id"], "answered")


@pytest.mark.spec("S110")
@pytest.mark.parametrize(
    ("answer", "kind", "shown"),
    [
        ({"status": "approved"}, "hitl_approved", {}),
        ({"status": "denied", "reason": "not to Bob"}, "hitl_denied", {"reason": "not to Bob"}),
        ({"status": "timed_out"}, "hitl_timeout", {}),
        ({"status": "expired"}, "hitl_timeout", {}),
    ],
)
async def test_an_approval_is_told_with_its_tools_and_how_it_ended(answer: Any, kind: str, shown: Any) -> None:
    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.ask("approval", {"tool_names": ["send_email"], "task_description": "Mail Bob", "more": 1})

    case = Case({"root": root})
    await case.drive()
    case.answer(answer)
    await case.drive()

    (opened,) = case.events("hitl_required")
    assert (opened["agent_name"], opened["tool_names"], opened["task_description"]) == (
        "root",
        ["send_email"],
        "Mail Bob",
    )
    (closed,) = case.events(kind)
    assert closed["request_id"] == opened["request_id"]
    assert shown.items() <= closed.items()
