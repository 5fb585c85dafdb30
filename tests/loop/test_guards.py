"""The members of the stack that keep a loop in order: dangling calls, repetition and errors; and the run's budget."""

from typing import Any, cast

import pytest

from agents.craft.loop_state import LoopState
from agents.craft.middleware.dangling import INTERRUPTED, mended, patched
from agents.craft.middleware.loop_guard import hash_of
from agents.engine.context import Context
from agents.run_budget import RunBudget
from agents.runtime.driven import DrivenRun
from agents.runtime.spending import Terms
from hyperagent.lib.llm.types import Message, Role, ToolCall
from tests.engine.driving import ROOT
from tests.loop.driving import TASK, Cases, LoopCase, calls, looped, sent
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer


def user(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def calling(*ids: str) -> Message:
    return Message(
        role=Role.ASSISTANT, tool_calls=tuple(ToolCall(id=id_, name="search", arguments="{}") for id_ in ids)
    )


def result(id_: str, text: str = "found") -> Message:
    return Message(role=Role.TOOL, content=text, tool_call_id=id_)


@pytest.mark.spec("S74")
def test_a_call_without_a_result_is_said_to_be_interrupted() -> None:
    messages = (user("go"), calling("1", "2", "3"), result("3"), result("1"), user("more"))

    mended = patched(messages)

    assert mended == (
        user("go"),
        calling("1", "2", "3"),
        result("1"),
        result("2", INTERRUPTED),
        result("3"),
        user("more"),
    )
    assert patched(mended) == mended


@pytest.mark.spec("S74")
def test_a_result_without_a_call_is_dropped() -> None:
    messages = (result("0"), user("go"), calling("1"), result("1"), result("1", "again"), result("9"), user("more"))

    assert patched(messages) == (user("go"), calling("1"), result("1"), user("more"))


def test_results_belong_to_the_calls_before_them_even_where_ids_come_again() -> None:
    messages = (calling("1"), result("1", "first"), calling("1"), user("stop"))

    assert patched(messages) == (
        calling("1"),
        result("1", "first"),
        calling("1"),
        result("1", INTERRUPTED),
        user("stop"),
    )
    twins = (calling("1", "1"), result("1", "first"), result("1", "second"))
    assert patched(twins) == twins


def test_what_is_summarised_is_not_mended_so_that_its_count_stays_right() -> None:
    state = LoopState(messages=(calling("1"), user("go"), calling("2")), summary="notes", summarised=2)

    assert mended(state).messages == (*state.messages, result("2", INTERRUPTED))


@pytest.mark.spec("S74")
async def test_a_conversation_that_broke_off_in_a_call_can_be_taken_up(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="I go on."))

    await looped(cases({}, messages=(user("go"), calling("1")), user="Go on"))

    assert [message["role"] for message in sent(scripted_server, 0)] == ["system", "user", "assistant", "tool", "user"]
    assert "interrupted" in sent(scripted_server, 0)[3]["content"]


@pytest.mark.spec("S83")
def test_a_batch_is_the_same_whatever_the_order_of_its_keys_and_calls() -> None:
    def call(name: str, arguments: str) -> ToolCall:
        return ToolCall(id="x", name=name, arguments=arguments)

    one = [call("search", '{"a": 1, "b": {"c": 2, "d": 3}}'), call("read", "{}")]
    same = [call("read", "{}"), call("search", '{"b":{"d":3,"c":2},"a":1}')]

    assert hash_of(one) == hash_of(same)
    assert len(hash_of(one)) == 32
    others = [[call("search", '{"a": 2}')], [call("read", '{"a": 1}')], [call("search", '{"a": 1')], one]
    assert len({hash_of(batch) for batch in others}) == 4


@pytest.mark.spec("S83")
async def test_other_calls_in_between_begin_the_count_anew(scripted_server: ScriptedServer, cases: Cases) -> None:
    order = ["a", "a", "b", "a", "a", "b"]
    scripted_server.script(*(calls(("search", {"query": query})) for query in order), Script(text="Done."))

    looped_ = await looped(cases({"search": lambda arguments: "found"}, max_iterations=10))

    assert looped_.stopped is None
    assert not any("same tool calls" in message.content for message in looped_.messages)


@pytest.mark.spec("S84")
async def test_a_round_that_succeeds_begins_the_count_of_errors_anew(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        *(calls(("fly", {"n": n})) for n in range(4)),
        calls(("search", {}), ("fly", {})),
        *(calls(("fly", {"n": n})) for n in range(4)),
        Script(text="Done."),
    )

    looped_ = await looped(cases({"search": lambda arguments: "found"}, max_iterations=12))

    assert looped_.stopped is None
    assert not any("Change your plan" in message.content for message in looped_.messages)


@pytest.mark.spec("S84")
async def test_each_row_of_five_errors_asks_for_another_plan_and_may_have_three_more(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    def failing(*numbers: int) -> list[Script]:
        return [calls(("fly", {"n": number})) for number in numbers]

    scripted_server.script(
        *failing(*range(6)), calls(("search", {})), *failing(*range(6, 14)), Script(text="I cannot fly.")
    )

    looped_ = await looped(cases({"search": lambda arguments: "found"}, max_iterations=20))

    told = [message.content for message in looped_.messages if "Change your plan" in message.content]
    assert len(told) == 2
    assert all("Your last 5 tool calls have all failed" in words for words in told)
    assert all("with other tools or without any" in words for words in told)
    assert (looped_.stopped, len(looped_.calls)) == ("errors", 15)


def with_budget(case: LoopCase, max_tokens: int) -> LoopCase:
    """The loop in a run that has so many tokens, and nobody who could be asked for more."""
    loop = case.programs[ROOT]

    async def root(context: Context, value: Any) -> Any:
        cast("DrivenRun", context.run).terms = Terms(RunBudget(max_tokens=max_tokens), may_ask=False)
        return await loop(context, value)

    case.programs = {ROOT: root}
    return case


@pytest.mark.spec("B12")
@pytest.mark.parametrize("speaks", [True, False])
async def test_a_loop_whose_run_has_used_its_budget_ends_with_what_it_has(
    scripted_server: ScriptedServer, cases: Cases, speaks: bool
) -> None:
    usage = ScriptedUsage(prompt_tokens=400_000, completion_tokens=100_000)
    scripted_server.script(
        calls(("search", {"n": 1}), usage=usage),
        calls(("search", {"n": 2}), usage=usage),
        *([Script(text="So far: 1.")] if speaks else []),
    )
    task = TASK.model_copy(update={"speaks": speaks})
    case = with_budget(cases({"search": lambda arguments: "found"}, task=task), 900_000)

    looped_ = await looped(case)
    again = await looped(case)

    assert again == looped_
    assert looped_.stopped == "budget"
    assert looped_.notice.startswith("The budget of this run of 900,000 tokens does not suffice for another call.")
    assert looped_.notice in looped_.text
    assert looped_.text.startswith("So far: 1." if speaks else "I could not finish this.")
    assert len(scripted_server.calls) == (3 if speaks else 2)
    assert speaks is False or scripted_server.calls[-1].body["max_tokens"] == 2_000
    assert speaks is False or "tools" not in scripted_server.calls[-1].body, "what is left is for words"


@pytest.mark.spec("B11")
async def test_a_loop_that_has_nothing_yet_spends_nothing_beyond_the_budget(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    case = with_budget(cases({}, task=TASK.model_copy(update={"speaks": True})), 1)

    looped_ = await looped(case)

    assert scripted_server.calls == []
    assert looped_.text.startswith("I could not finish this. The budget of this run of 1 tokens does not suffice")


def test_the_first_reason_to_stop_holds() -> None:
    state = LoopState().stop("errors", "all failed").stop("budget", "spent")

    assert (state.stopped, state.notice) == ("errors", "all failed")
