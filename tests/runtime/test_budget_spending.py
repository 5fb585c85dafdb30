"""A run that comes to the end of its budget: asked about once for all its agents, whatever dies meanwhile."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.engine.context import Context
from agents.engine.errors import Cancelled, StepFailed
from agents.engine.states import StepKind
from agents.run_budget import RunBudget
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun
from agents.runtime.spending import Terms
from hyperagent.lib.llm.prices import Price, PriceBook
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier
from tests.doubles.memory_journal import Death
from tests.engine.driving import ROOT, End
from tests.loop.driving import Cases, LoopCase
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
EACH = ScriptedUsage(prompt_tokens=90_000, completion_tokens=10_000)
ANY = Script(text="fine", usage=EACH, times=0)


@pytest.fixture
async def cases(scripted_server: ScriptedServer) -> AsyncIterator[Cases]:
    scripted_server.script(ANY)
    made = Cases(scripted_server)
    async with made.stack:
        yield made


def request(text: str) -> ModelRequest:
    return ModelRequest(tier=Tier.PRO, messages=(Message(role=Role.USER, content=text),))


async def think(context: AgentContext, text: str, *, last: bool = False) -> str:
    try:
        return (await context.model(request(text), stage="agent", shown=False, last=last)).text
    except StepFailed as failure:
        return f"{failure.code}: {failure.message}"


def made(cases: Cases, root: Any, budget: RunBudget | None, *, may_ask: bool = True, **others: Any) -> LoopCase:
    case = cases()

    async def begin(context: Context, value: Any) -> Any:
        run = cast("DrivenRun", context.run)
        run.terms = Terms(budget, may_ask) if budget else None
        return await root(AgentContext(run, context.agent))

    case.programs = {ROOT: begin, **others}
    return case


async def five_thoughts(context: AgentContext) -> list[str]:
    return [await think(context, f"thought {number}") for number in range(5)]


def raise_to(limit: int) -> dict[str, Any]:
    return {"status": "answered", "choice": "raise", "text": f"{limit}", "unit": "tokens"}


FINISH = {"status": "answered", "choice": "finish", "unit": "tokens"}
STOP = {"status": "answered", "choice": "stop", "unit": "tokens"}
STOPPED = (
    "The budget of this run of 200,000 tokens does not suffice for another call. A person chose to stop the run there."
)
USED_UP = "budget: The budget of this run of 200,000 tokens does not suffice for another call."


@pytest.mark.spec("B12")
@pytest.mark.parametrize("budget", [None, RunBudget(max_tokens=550_000), RunBudget(max_cost_usd=1)])
async def test_a_run_without_a_budget_or_within_it_records_nothing_more(cases: Cases, budget: RunBudget | None) -> None:
    case = made(cases, five_thoughts, budget)

    assert await case.drive() == End("completed", ["fine"] * 5)
    assert [(step.kind, step.path) for step in case.store.steps(case.execution_id)] == [
        (StepKind.MODEL, (number,)) for number in range(5)
    ]


@pytest.mark.spec("B12")
async def test_at_its_end_it_asks_and_after_a_raise_it_asks_at_the_next_end(cases: Cases) -> None:
    case = made(cases, five_thoughts, RunBudget(max_tokens=200_000))

    assert (await case.drive()).how == "waiting"
    first = case.open_requests[0]
    case.answer(raise_to(400_000))
    assert (await case.drive()).how == "waiting"
    second = case.open_requests[0]
    case.answer(raise_to(5_000_000))
    end = await case.drive()

    assert (first.question["used"], first.question["limit"], first.question["suggested"]) == (200_000, 200_000, 400_000)
    assert (second.question["used"], second.question["limit"], second.question["end"]) == (400_000, 400_000, 2)
    assert end.value == ["fine"] * 5


@pytest.mark.spec("B12")
@pytest.mark.parametrize("answer", [FINISH, {"status": "denied", "choice": "finish"}, {"status": "timed_out"}])
async def test_after_finish_no_model_is_asked_any_more_but_once_for_the_answer(cases: Cases, answer: Any) -> None:
    async def root(context: AgentContext) -> Any:
        thoughts = await five_thoughts(context)
        last = await think(context, "answer now", last=True)
        return [thoughts, last, context.beyond_budget]

    case = made(cases, root, RunBudget(max_tokens=200_000))
    await case.drive()
    case.answer(answer)
    end = await case.drive()

    thoughts, last, beyond = end.value
    assert thoughts[:2] == ["fine", "fine"]
    assert all(thought.startswith(USED_UP) for thought in thoughts[2:])
    assert (last, beyond) == ("fine", thoughts[2].removeprefix("budget: "))
    assert ("Nobody said in time" in beyond) == (answer["status"] == "timed_out")
    assert len(case.events("interrupt")) == 1
    assert [call.body.get("max_tokens") for call in cases.server.calls] == [16_384, 16_384, 2_000]


@pytest.mark.spec("B12")
async def test_where_nobody_may_be_asked_it_finishes_and_says_so(cases: Cases) -> None:
    case = made(cases, five_thoughts, RunBudget(max_tokens=200_000), may_ask=False)

    end = await case.drive()

    assert case.events("interrupt") == []
    assert end.value[1:3] == [
        "fine",
        f"{USED_UP} Nobody could be asked to raise it, so this was finished with what there was.",
    ]


@pytest.mark.spec("B12")
async def test_stop_ends_the_run_and_says_why_once(cases: Cases) -> None:
    case = made(cases, five_thoughts, RunBudget(max_tokens=200_000))
    await case.drive()
    case.answer(STOP)

    for _ in range(2):
        with pytest.raises(Cancelled, match="A person chose to stop the run there"):
            await case.drive()
        assert case.run is not None
        assert case.run.broken_off == STOPPED

    assert [event["description"] for event in case.events("stage")] == [STOPPED]
    assert len(cases.server.calls) == 2


@pytest.mark.spec("B12")
async def test_parallel_agents_that_reach_the_limit_wait_for_one_request_of_the_root(cases: Cases) -> None:
    async def child(context: AgentContext, value: Any) -> Any:
        return [await think(context, f"{value} {number}") for number in range(3)]

    async def root(context: AgentContext) -> Any:
        handles = [await context.fork("child", f"child {number}") for number in range(3)]
        return [await context.wait(handle) for handle in handles]

    case = made(cases, root, RunBudget(max_tokens=300_000), child=child)
    assert (await case.drive()).how == "waiting"
    (asked,) = case.open_requests
    case.answer(raise_to(10_000_000))
    end = await case.drive()

    assert asked.agent_id == case.agent("root").id
    assert asked.question["asking"] == "child"
    assert end.value == [["fine"] * 3] * 3
    assert len(case.events("interrupt")) == len(case.events("interrupt_response")) == 1


@pytest.mark.spec("B11", "B12")
async def test_a_limit_of_money_that_cannot_be_held_is_said_once(cases: Cases) -> None:
    case = made(cases, five_thoughts, RunBudget(max_cost_usd=0.01))

    for _ in range(3):
        assert (await case.drive()).value == ["fine"] * 5

    (said,) = case.events("stage")
    assert said["description"].startswith("The price of ")
    assert said["name"] == "budget"


@pytest.mark.spec("B12")
async def test_a_structured_answer_is_within_the_budget_too(cases: Cases, scripted_server: ScriptedServer) -> None:
    async def root(context: AgentContext) -> Any:
        await five_thoughts(context)
        try:
            await context.structured(request("as a value"), Message, stage="outline")
        except StepFailed as failure:
            return failure.code

    case = made(cases, root, RunBudget(max_tokens=100_000), may_ask=False)

    assert (await case.drive()).value == "budget"
    assert len(scripted_server.calls) == 1


@pytest.mark.spec("B1", "B12")
async def test_changed_code_does_not_get_round_the_budget(cases: Cases) -> None:
    """A call that differs from the recorded one is a new one, and asks like any other; what was granted stays so."""

    def thoughts(name: str) -> Any:
        async def root(context: AgentContext) -> Any:
            first = [await think(context, f"{name} {number}") for number in range(4)]
            return [first, await context.ask("input", {"question": "?"})]

        return root

    case = made(cases, thoughts("old"), RunBudget(max_tokens=200_000))
    await case.drive()
    case.answer(raise_to(500_000))
    assert (await case.drive()).how == "waiting"
    case.programs = made(cases, thoughts("new"), RunBudget(max_tokens=200_000)).programs
    assert (await case.drive()).how == "waiting"

    budgets = [asked.question for asked in case.open_requests if asked.kind == "budget"]
    assert [(question["used"], question["limit"], question["end"]) for question in budgets] == [(500_000, 500_000, 2)]


# --- what a call may take is reserved before it

SMALL = ScriptedUsage(prompt_tokens=20, completion_tokens=200)


@pytest.fixture
async def honest(scripted_server: ScriptedServer) -> AsyncIterator[Cases]:
    """With a model that takes no more than it may."""
    scripted_server.script(Script(match="thought", text="fine", usage=SMALL, times=0))
    made = Cases(scripted_server)
    async with made.stack:
        yield made


def spent(case: LoopCase) -> int:
    steps = case.store.steps(case.execution_id)
    return sum(step.usage["prompt_tokens"] + step.usage["completion_tokens"] for step in steps if step.usage)


@pytest.mark.spec("B11", "B12")
async def test_a_call_that_does_not_fit_into_the_budget_is_asked_about_before_anything_is_spent(cases: Cases) -> None:
    case = made(cases, five_thoughts, RunBudget(max_tokens=20))

    assert (await case.drive()).how == "waiting"
    (asked,) = case.open_requests
    case.answer(raise_to(asked.question["suggested"]))
    again = await case.drive()

    assert asked.question["question"].startswith(
        "This run has used 0 tokens, and its budget is 20 tokens. The next call may take up to 276 tokens, and "
        "20 tokens are left. The root agent needs more to go on."
    )
    assert asked.question["suggested"] == 2_020
    assert again.how == "waiting"
    assert len(cases.server.calls) == 1


@pytest.mark.spec("B11")
async def test_where_nobody_may_be_asked_a_budget_that_is_too_small_spends_nothing(cases: Cases) -> None:
    case = made(cases, five_thoughts, RunBudget(max_tokens=1), may_ask=False)

    said = (await case.drive()).value

    assert all(text.startswith("budget: The budget of this run of 1 tokens does not suffice") for text in said)
    assert cases.server.calls == []
    assert (await case.drive()).value == said


@pytest.mark.spec("B11")
async def test_an_answer_may_have_as_many_tokens_as_are_left_for_it(honest: Cases) -> None:
    async def root(context: AgentContext) -> list[str]:
        return [await think(context, f"thought {number}") for number in range(3)]

    case = made(honest, root, RunBudget(max_tokens=800), may_ask=False)
    end = await case.drive()

    assert [call.body["max_tokens"] for call in honest.server.calls] == [780, 560, 340]
    assert end.value == ["fine"] * 3


@pytest.mark.spec("B11")
async def test_a_budget_in_money_is_held_before_the_call_too(cases: Cases) -> None:
    """At a dollar for a million of tokens, whichever they are."""
    dollar = Price(input=Decimal(1), output=Decimal(1))

    async def root(context: AgentContext) -> list[str]:
        book = PriceBook().with_rows(
            [(name, dollar, SINCE) for name in await context.run.models.prices_of(request(""))]
        )
        context.run.models.prices = book
        return [await think(context, f"thought {number}") for number in range(2)]

    case = made(cases, root, RunBudget(max_cost_usd=0.101), may_ask=False)
    end = await case.drive()

    assert [text[:6] for text in end.value] == ["fine", "fine"]
    assert [call.body["max_tokens"] for call in cases.server.calls] == [16_384, 980]


@pytest.mark.spec("B11", "B12")
@pytest.mark.parametrize("limit", [277, 700, 1_000, 2_345])
async def test_agents_at_once_never_go_beyond_the_budget_together(honest: Cases, limit: int) -> None:
    async def child(context: AgentContext, value: Any) -> Any:
        return [await think(context, f"thought {value} {number}") for number in range(2)]

    async def root(context: AgentContext) -> Any:
        handles = [await context.fork("child", number) for number in range(4)]
        return [await context.wait(handle) for handle in handles]

    case = made(honest, root, RunBudget(max_tokens=limit), may_ask=False, child=child)
    end = await case.drive()

    assert 0 < spent(case) <= limit
    assert (await case.drive()) == end


@pytest.mark.spec("B11")
async def test_a_call_waits_for_what_others_may_not_take_after_all(honest: Cases) -> None:
    """Each may take all that there is. None is cut short, and nobody is asked, for there is enough for all of them."""

    async def root(context: AgentContext) -> Any:
        return await context.all(*[lambda branch: think(branch, "thought")] * 4)

    case = made(honest, root, RunBudget(max_tokens=20_000))

    assert (await case.drive()).value == ["fine"] * 4
    assert [call.body["max_tokens"] for call in honest.server.calls] == [16_384] * 4


@pytest.mark.spec("B12", "B16")
async def test_what_an_interrupted_call_had_reserved_is_free_for_others(honest: Cases) -> None:
    honest.server.script(Script(match="hangs", text="never", held_after=0))

    async def root(context: AgentContext) -> Any:

        async def slow(inside: AgentContext) -> str:
            return await think(inside, "hangs")

        with suppress(StepFailed):
            await context.within(0.2, slow, name="slow")
        return await think(context, "thought")

    case = made(honest, root, RunBudget(max_tokens=5_000))

    assert (await case.drive()).value == "fine"


@pytest.mark.spec("B12")
async def test_for_what_the_run_can_do_without_nobody_is_asked(cases: Cases) -> None:
    async def root(context: AgentContext) -> Any:
        try:
            await context.model(request("a title"), stage="title", aside=True)
        except StepFailed as failure:
            return failure.code

    case = made(cases, root, RunBudget(max_tokens=20))

    assert (await case.drive()).value == "budget"
    assert case.open_requests == []
    assert cases.server.calls == []


# --- any tree, any kill


shapes = st.recursive(st.integers(1, 3), lambda parts: st.lists(parts, min_size=1, max_size=3), max_leaves=5)


def tree(shape: Any) -> Any:
    """Agents that think as often as a number says, and those below a list, all at once."""

    async def child(context: AgentContext, value: Any) -> Any:
        return await _thoughts(context, value)

    return child


async def _thoughts(context: AgentContext, shape: Any) -> Any:
    if isinstance(shape, int):
        return [await think(context, f"{context.agent.lineage} {number}") for number in range(shape)]
    handles = [await context.fork("child", part) for part in shape]
    return [await context.wait(handle) for handle in handles]


def _flat(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [text for part in value for text in _flat(part)]


@pytest.mark.spec("B1", "B12")
@settings(max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(shapes, st.integers(1, 4), st.integers(1, 12), st.sampled_from(Death), st.sampled_from(["raise", "finish"]))
async def test_whenever_it_is_killed_each_end_is_asked_about_once_and_holds_for_all(
    cases: Cases, shape: Any, limit: int, at: int, death: Death, choice: str
) -> None:
    async def root(context: AgentContext) -> Any:
        return await _thoughts(context, shape)

    case = made(cases, root, RunBudget(max_tokens=limit * 100_000), child=tree(shape))
    before = len(cases.server.calls)
    asked: list[Any] = []
    for _ in range(60):
        end = await case.drive(death=death, at=at)
        at += 5
        if end.how == "completed":
            break
        for open_request in case.open_requests:
            asked.append(open_request.question)
            answer = FINISH if choice == "finish" else raise_to(open_request.question["used"] + 200_000)
            case.store.answer(open_request.request_id, answer)
    texts = _flat(end.value)

    assert end.how == "completed"
    assert await case.drive() == end
    assert [question["end"] for question in asked] == list(range(1, len(asked) + 1))
    assert len(case.events("interrupt")) == len(asked) == len(case.events("interrupt_response"))
    assert {agent.name for agent in case.store.agents(case.execution_id)} <= {"root", "child"}
    if choice == "raise":
        assert set(texts) == {"fine"}
    else:
        assert len(asked) <= 1
        assert all(text == "fine" or text.startswith("budget: ") for text in texts)
        assert (len(asked) == 1) == any(text != "fine" for text in texts)
    steps = case.store.steps(case.execution_id)
    spent = sum(step.usage["prompt_tokens"] + step.usage["completion_tokens"] for step in steps if step.usage)
    assert spent == 100_000 * texts.count("fine")
    assert len(cases.server.calls) - before >= texts.count("fine")
