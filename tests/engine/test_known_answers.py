"""What people said, and what happened, before a journal was cut: not asked again, not done again, and told once."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.engine.context import Context
from agents.engine.copying import failed_agents, kept_for_retry
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.events import ToolResult
from agents.engine.states import InterventionKind
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End

YES = {"status": "approved", "arguments_hash": "a" * 64}


def approval(call_id: str, arguments_hash: str = "a" * 64, **more: Any) -> dict[str, Any]:
    calls = [{"id": call_id, "tool": "send_mail", "arguments_hash": arguments_hash}]
    return {"question": "Send this mail?", "tool_calls": calls, **more}


def asking(case: Case, first: str, *questions: tuple[str, Any]) -> None:
    """The root asks a model under this name, then people; at last for a word that never comes before the cut."""

    async def root(ctx: Context, value: Any) -> Any:
        await case.model(ctx, first)
        answers = [await ctx.ask(kind, question) for kind, question in questions]
        return [*answers, await ctx.ask("input", {"question": "and then?"})]

    case.programs = {"root": root}


async def asked_again_after_a_cut(before: tuple[str, Any], after: tuple[str, Any], answer: Any) -> list[Any]:
    """What is open once the code before an answered question has changed, oldest first."""
    case = Case({})
    asking(case, "old", before)
    await case.drive()
    case.answer(answer)
    await case.drive()
    asking(case, "new", after)
    assert (await case.drive()).how == "waiting"
    return [(asked.kind, asked.question) for asked in case.open_requests]


LAST = ("input", {"question": "and then?"})


@pytest.mark.spec("B1")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("input", {"question": "?"}), ("input", {"question": "?"})),
        (("input", {"question": "?", "timeout_seconds": 5}), ("input", {"question": "?", "timeout_seconds": 9})),
        (("approval", approval("call-1")), ("approval", approval("call-2"))),
    ],
)
async def test_what_was_answered_before_a_cut_is_not_asked_again(before: Any, after: Any) -> None:
    assert await asked_again_after_a_cut(before, after, YES) == [LAST]


@pytest.mark.spec("B1", "B3")
@pytest.mark.parametrize(
    "after",
    [
        ("input", {"question": "another?"}),
        ("decision", {"question": "?"}),
    ],
)
async def test_another_question_is_asked(after: Any) -> None:
    assert await asked_again_after_a_cut(("input", {"question": "?"}), after, YES) == [after]


@pytest.mark.spec("B3")
async def test_an_approval_of_other_arguments_is_asked() -> None:
    after = ("approval", approval("call-1", "b" * 64))

    assert await asked_again_after_a_cut(("approval", approval("call-1")), after, YES) == [after]


@pytest.mark.parametrize("status", ["timed_out", "expired", "cancelled"])
async def test_a_question_that_nobody_answered_is_asked_again(status: str) -> None:
    question = ("input", {"question": "?"})

    assert await asked_again_after_a_cut(question, question, {"status": status}) == [question]


async def test_an_agent_with_other_instructions_asks_again() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        first = await ctx.ask("approval", approval("call-1"))
        return [first, await ctx.ask("input", {"question": "and then?"})]

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", {}))

    case = Case({"root": root, "child": child})
    await case.drive()
    case.answer({"status": "denied"})
    await case.drive()
    case.intervene(InterventionKind.MODIFY, "do send it", lineage="root.child-0")
    await case.drive()

    assert [asked.kind for asked in case.open_requests] == ["approval"]


async def test_an_answer_about_a_doubt_holds_for_that_attempt_only() -> None:
    sent: list[str] = []

    def root_with(first: str) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            await case.model(ctx, first)

            async def send(key: str) -> Any:
                sent.append(key)
                raise ConnectionResetError

            return await ctx.effect(Effect("send_mail", {}, send))

        return root

    case = Case({})
    case.programs = {"root": root_with("old")}
    with pytest.raises(ConnectionResetError):
        await case.drive()
    assert (await case.drive()).how == "waiting"
    case.answer({"choice": "again"})
    with pytest.raises(ConnectionResetError):
        await case.drive()
    case.programs = {"root": root_with("new")}

    assert (await case.drive()).how == "waiting"
    assert len(sent) == 2


# --- any program


class Words:
    """A program of questions in nested branches, some of them equal. Every answer is another one."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    def program(self, case: Case, first: str) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            await case.model(ctx, first)
            answers = await self._perform(ctx, self.shape)
            return [answers, await ctx.ask("input", {"question": "last"})]

        return root

    async def _perform(self, ctx: Context, shape: Any) -> Any:
        if isinstance(shape, int):
            return await ctx.ask("input", {"question": f"{shape}"})
        if isinstance(shape, tuple):
            return await ctx.all(*[lambda branch, part=part: self._perform(branch, part) for part in shape])
        return [await self._perform(ctx, part) for part in shape]


shapes = st.recursive(
    st.integers(0, 2),
    lambda parts: st.lists(parts, max_size=3) | st.lists(parts, max_size=3).map(tuple),
    max_leaves=8,
)


async def _answers_survive_a_cut(shape: Any, at: int, death: Death) -> None:
    case = Case({})
    words = Words(shape)
    case.programs = {"root": words.program(case, "old")}
    given_answers = 0
    while (await case.drive(death=death, at=at)).how in ("waiting", "killed"):
        open_now = [asked for asked in case.open_requests if asked.question != {"question": "last"}]
        for asked in open_now:
            given_answers += 1
            case.store.answer(asked.request_id, {"status": "answered", "text": f"answer {given_answers}"})
        at += 7
        if not open_now and case.open_requests:
            break
    before = Counter(event["question"] for event in case.events("interrupt"))

    case.programs = {"root": words.program(case, "new")}
    await case.drive(death=death, at=at % 5 + 1)
    assert (await case.drive()).how == "waiting"
    after = Counter(event["question"] for event in case.events("interrupt"))
    (last,) = case.open_requests
    case.store.answer(last.request_id, "bye")
    end = await case.drive()

    assert last.question == {"question": "last"}
    assert {question: after[question] - before[question] for question in after if question != "last"} == {
        question: 0 for question in after if question != "last"
    }
    assert end.how == "completed"
    said = sorted(text for text in _texts(end.value[0]))
    assert said == sorted(f"answer {number}" for number in range(1, given_answers + 1))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [value["text"]]
    return [text for part in value for text in _texts(part)]


@pytest.mark.slow
@pytest.mark.spec("B1")
@settings(max_examples=60, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes, st.integers(1, 20), st.sampled_from(Death))
def test_every_answer_survives_a_cut_and_none_is_used_twice(shape: Any, at: int, death: Death) -> None:
    asyncio.run(_answers_survive_a_cut(shape, at, death))


# --- what happened before


class Outbox:
    """Sends mails, and tells people of each as the gateway does."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, ctx: Context) -> Any:
        async def perform(key: str) -> Any:
            self.sent.append(key)
            return "sent"

        done = await ctx.carried_out(Effect("send_mail", {"to": "bob"}, perform))
        ctx.emit(ToolResult(tool="send_mail", content=str(done.response), already_done=done.already))
        return done.response


def told(case: Case) -> list[bool]:
    return [event["already_done"] for event in case.events("tool_result")]


@pytest.mark.spec("B14")
async def test_an_effect_of_a_journal_that_was_cut_is_shown_as_already_done_once() -> None:
    case, outbox = Case({}), Outbox()

    def root_with(name: str) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            await case.model(ctx, name)
            return [await outbox.send(ctx), await ctx.ask("input", {"question": "?"})]

        return root

    case.programs = {"root": root_with("old")}
    for _ in range(2):
        await case.drive()
    assert told(case) == [False]
    case.programs = {"root": root_with("new")}
    for _ in range(3):
        await case.drive()
    case.answer("bye")

    assert await case.drive() == End("completed", ["sent", "bye"])
    assert told(case) == [False, True]
    assert len(outbox.sent) == 1


@pytest.mark.spec("B14")
@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("at", range(1, 8))
async def test_a_retry_shows_what_the_first_run_did_as_already_done_over_any_kill(death: Death, at: int) -> None:
    case, outbox = Case({}), Outbox()

    async def fails_once(ctx: Context, value: Any) -> Any:
        await outbox.send(ctx)
        if case.execution_id == first:
            raise StepFailed("no", "not this time")

    async def done_well(ctx: Context, value: Any) -> Any:
        return await outbox.send(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        handles = [await ctx.fork("fails_once", None), await ctx.fork("done_well", None)]
        return [(await ctx.outcome(handle)).status.value for handle in handles]

    case.programs = {"root": root, "fails_once": fails_once, "done_well": done_well}
    first = case.execution_id
    await case.drive()
    past = case.store.past(first)
    case.copy(kept_for_retry(past, failed_agents(past)))
    await case.drive(death=death, at=at)
    end = await case.drive()

    assert end.value == ["completed", "completed"]
    assert len(outbox.sent) == 2
    assert told(case) == [True]


@pytest.mark.spec("B14")
async def test_an_effect_that_was_refused_and_works_in_the_retry_is_not_called_done_before() -> None:
    case, outbox = Case({}), Outbox()

    async def child(ctx: Context, value: Any) -> Any:
        if case.execution_id == first:

            async def refuse(key: str) -> Any:
                raise OutsideError("refused", "550")

            return await ctx.effect(Effect("send_mail", {"to": "bob"}, refuse))
        return await outbox.send(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.wait(await ctx.fork("child", None))

    case.programs = {"root": root, "child": child}
    first = case.execution_id
    assert (await case.drive()).how == "failed"
    past = case.store.past(first)
    case.copy(kept_for_retry(past, failed_agents(past)))

    assert (await case.drive()).value == "sent"
    assert told(case) == [False]
