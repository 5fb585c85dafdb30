"""Scripts over crashes, and over days in which a person is asked."""

import asyncio
from collections import Counter
from itertools import product
from typing import Any

import pytest

from agents.craft.exchange import AgentInput, AgentOutput
from agents.engine.scripts import ANOTHER_WAY, Waits
from agents.engine.states import AgentStatus, EffectStatus, StepStatus
from agents.runtime.context import AgentContext
from agents.tools.providers import ScriptRun
from agents.tools.tool import ToolError
from agents.tools.values import CodeRun
from hyperagent.lib.hashes import arguments_hash
from tests.codeact.driving import CoroutineScripts, ProcessScripts, Refused, ScriptCase, scripted
from tests.doubles.lookups import MemoryLookups
from tests.doubles.memory_journal import Death
from tests.tools.doubles import FakeWeb

FIVE_CALLS = """
import hyperagent, random
chance = random.random(), list({"a", "b", "c"})
found = hyperagent.web_search("acme", max_results=1)
hyperagent.call("write_note", text=f"first {chance}")
hyperagent.call("send_note", text="second")
answer = hyperagent.ask_user("Go on?")
print(answer, hyperagent.web_search("acme", max_results=1) == found)
"""
AT_ONCE = Waits(resting_s=0, settling_s=0.05)
ASKED = ["execute_script", "send_note second", "Go on?"]


async def five_calls(call: Any) -> Any:
    found = await call("web_search", query="acme", max_results=1)
    await call("write_note", text="first")
    await call("send_note", text="second")
    answer = await call("ask_user", question="Go on?")
    return answer["text"], await call("web_search", query="acme", max_results=1) == found


def of(scripts: ProcessScripts, code: str = "", **more: Any) -> tuple[ScriptCase, FakeWeb]:
    web = FakeWeb()
    return scripted(code, scripts=scripts, lookups=MemoryLookups(), web=web, **more), web


def check(case: ScriptCase, asked: list[str], web: FakeWeb, at: object) -> None:
    """One note of each, each question once, and no recorded call asked again."""
    assert [text.split()[0] for text in case.notes.texts] == ["first", "second"], at
    assert sorted(asked) == sorted(ASKED), at
    assert len(web.asked) <= 3, at  # two, and one whose answer the kill took away
    effects = case.case.store.effects(case.case.execution_id)
    assert [effect.status for effect in effects] == [EffectStatus.FINISHED] * 2, at
    steps = case.case.store.steps(case.case.execution_id)
    assert not [step for step in steps if step.status is StepStatus.STARTED], at
    assert not case.scripts.running
    assert not case.case.open_requests


@pytest.mark.spec("S198", "S200", "B1", "B2")
async def test_a_run_that_is_killed_at_any_record_of_its_script_ends_as_if_it_had_not_been() -> None:
    whole, web = of(CoroutineScripts(body=five_calls))
    expected, asked = await whole.finish()
    check(whole, asked, web, "whole")
    assert expected["data"]["stdout"] == "('yes', True)"
    kills = 0

    for at in range(1, 200):
        scripts = CoroutineScripts(body=five_calls)
        case, web = of(scripts, waits=AT_ONCE)
        reply, asked = await case.finish(death=list(Death)[at % 3], at=at)

        check(case, asked, web, at)
        assert reply == expected, at
        kills += 1
        if case.unkilled:
            break
    assert kills > 30


class Once(CoroutineScripts):
    """Whose box is gone when a script is to run again."""

    async def run_script(self, about: Any, script: ScriptRun) -> CodeRun:
        if script.again:
            raise ToolError("There is no box.")
        return await super().run_script(about, script)


@pytest.mark.slow
@pytest.mark.spec("S198", "B2")
@pytest.mark.parametrize("probes", [True, False])
async def test_what_a_script_had_begun_is_looked_up_where_it_cannot_run_again(probes: bool) -> None:
    """Killed at each record: nothing stays begun in the ledger, and what happened, or may have, is told."""

    async def body(call: Any) -> Any:
        return await call("write_note", text="first"), await call("write_note", text="second")

    told = Counter[str]()
    for at, death in product(range(1, 30), Death):
        case, _ = of(Once(body=body), waits=AT_ONCE)
        if not probes:
            for tool in case.notes.tools:
                object.__setattr__(tool, "probe", None)
        reply, _ = await case.finish(death=death, at=at)
        effects = case.case.store.effects(case.case.execution_id)
        doubts = [effect for effect in effects if effect.status is EffectStatus.IN_DOUBT]
        steps = case.case.store.steps(case.case.execution_id)
        assert not [step for step in steps if step.status is StepStatus.STARTED], at
        assert EffectStatus.STARTED not in [effect.status for effect in effects], at
        assert not (probes and doubts), at
        if "There is no box." not in str(reply):
            continue
        done, _, unknown = str(reply).partition("it is not known whether they happened")
        for effect in effects:
            text = effect.arguments["text"]
            assert (text in done) == (effect.status is EffectStatus.FINISHED), (at, reply)
            assert (text in unknown) == (effect.status is EffectStatus.IN_DOUBT), (at, reply)
            assert text in case.notes.texts or effect.status is not EffectStatus.FINISHED, at
            told[effect.status] += 1

    assert told[EffectStatus.FINISHED] > 2
    assert told[EffectStatus.FAILED if probes else EffectStatus.IN_DOUBT] > 0


async def test_processes_that_are_killed_with_their_run_leave_nothing_behind_and_find_what_they_did() -> None:
    for at in (22, 36):
        case, web = of(ProcessScripts(env={"PYTHONHASHSEED": "0"}), FIVE_CALLS)

        reply, asked = await case.finish(death=Death.WRITE_IS_STORED, at=at)

        check(case, asked, web, at)
        assert reply["data"]["stdout"] == "yes True\n", at
        assert reply["data"]["not_asked_again"] == []
        assert case.scripts.again[0] is False
        assert all(case.scripts.again[1:])


@pytest.mark.spec("S198", "B5")
async def test_while_a_person_is_asked_nothing_runs_and_the_answer_finds_the_same_call() -> None:
    case, _ = of(ProcessScripts(), "import hyperagent\nprint(hyperagent.call('send_note', text='a')['written'])")

    await case.waits()
    assert case.answer_one() == "execute_script"
    await case.waits()

    assert (case.scripts.began, case.scripts.running, case.notes.texts) == (1, set(), [])
    (asked,) = case.case.open_requests
    (shown,) = asked.question["tool_calls"]
    assert (shown["tool"], shown["arguments"]) == ("send_note", {"text": "a"})
    case.answer_one()
    reply = await case.done()
    assert (reply["data"]["stdout"], case.notes.texts, case.scripts.began) == ("a\n", ["a"], 2)


async def test_an_answer_that_comes_soon_finds_the_process_still_there() -> None:
    waits = Waits(resting_s=3600)
    code = "import hyperagent\nprint(hyperagent.ask_user('Which?', ['a', 'b']))"
    case, _ = of(ProcessScripts(), code, waits=waits)
    await case.waits()
    case.answer_one()

    async with case.case.driving() as (run, task):
        while not case.case.open_requests:
            await asyncio.sleep(0.01)
        assert case.scripts.running
        (asked,) = case.case.open_requests
        answer = {"status": "answered", "choice": "b"}
        case.case.answer(answer)
        run.answer(asked.request_id, answer)
        end = await task

    assert (end.value["data"]["stdout"], case.scripts.began) == ("b\n", 1)


@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    ("status", "code"), [("denied", "denied_by_user"), ("expired", "hitl_timeout"), ("cancelled", "hitl_cancelled")]
)
async def test_a_call_without_a_yes_is_an_error_that_the_script_can_catch(status: str, code: str) -> None:
    async def body(call: Any) -> Any:
        try:
            await call("send_note", text="a")
        except Refused as refused:
            return str(refused), (await call("write_note", text="b"))["written"]

    case, _ = of(CoroutineScripts(body=body))
    await case.waits()
    case.answer_one()
    await case.waits()
    case.answer_one(status=status)

    assert (await case.done())["data"]["stdout"] == f"('{code}', 'b')"
    assert case.notes.texts == ["b"]


async def test_what_a_person_changed_is_what_is_done() -> None:
    async def body(call: Any) -> Any:
        return (await call("send_note", text="a"))["written"]

    case, _ = of(CoroutineScripts(body=body))
    await case.waits()
    case.answer_one()
    await case.waits()
    edited = {"text": "better"}
    case.answer_one(arguments=edited, arguments_hash=arguments_hash("send_note", edited))

    assert (await case.done())["data"]["stdout"] == "'better'"
    assert case.notes.texts == ["better"]


@pytest.mark.spec("S100")
async def test_a_script_that_goes_another_way_repeats_no_effect_and_the_model_is_told() -> None:
    turns = iter(range(9))

    async def body(call: Any) -> Any:
        turn = next(turns)
        try:
            await call("write_note", text=f"at {turn}")
        except Refused as refused:
            return str(refused)
        return await call("ask_user", question="Go on?")

    case, _ = of(CoroutineScripts(body=body))
    reply, asked = await case.finish()

    assert reply["data"]["stdout"] == repr(ANOTHER_WAY)
    assert case.notes.texts == ["at 0"]
    assert asked == ["execute_script", "Go on?"]
    assert reply["data"]["not_asked_again"] == ['write_note({"text":"at 0"})', 'ask_user({"question":"Go on?"})']
    assert "They are done, and were not repeated:" in reply["content"]
    assert 'write_note({"text":"at 0"})' in reply["content"]


async def test_calls_from_threads_find_their_records_in_whatever_order_they_come() -> None:
    code = """
    import hyperagent, os, random
    random.seed(os.getpid())  # another order each time

    def notes(n):
        hyperagent.call("write_note", text=f"{n}")
        return hyperagent.call("send_note", text=f"sent {n}")["written"]

    order = random.sample(range(6), 6)
    gave = dict(zip(order, hyperagent.gather(*(lambda n=n: notes(n) for n in order))))
    print([gave[n] for n in range(6)])
    """
    case, _ = of(ProcessScripts(), code)

    reply, asked = await case.finish()

    assert reply["data"]["stdout"] == f"{[f'sent {n}' for n in range(6)]}\n"
    assert sorted(case.notes.texts) == sorted([*map(str, range(6)), *(f"sent {n}" for n in range(6))])
    assert sorted(asked) == sorted(["execute_script", *(f"send_note sent {n}" for n in range(6))])
    assert reply["data"]["not_asked_again"] == []


@pytest.mark.spec("S99", "S102")
async def test_fork_and_wait_work_from_a_script_and_agents_ask_while_it_waits() -> None:
    code = """
    import hyperagent
    first, second = hyperagent.fork("a", agent="web"), hyperagent.fork("b", agent="web")
    print(hyperagent.wait(second), hyperagent.wait(first))
    """

    async def child(context: AgentContext, value: Any) -> Any:
        task = AgentInput.model_validate(value["input"])
        answer = await context.ask("input", {"question": task.task})
        return AgentOutput(
            agent_id=task.agent_id,
            agent_name=task.agent_name,
            task_description=task.task,
            task_done=True,
            result=f"{task.task} {answer['text']}",
        ).model_dump(mode="json")

    case, _ = of(ProcessScripts(), code, others={"web": child})

    reply, asked = await case.finish()

    assert reply["data"]["stdout"] == "b yes a yes\n"
    assert sorted(asked) == ["a", "b", "execute_script"]
    agents = [agent for agent in case.case.store.agents(case.case.execution_id) if agent.parent_id]
    assert [agent.status for agent in agents] == [AgentStatus.COMPLETED] * 2


async def test_a_kill_switch_stops_a_script_before_it_begins() -> None:
    lookups = MemoryLookups()
    case = scripted("", scripts=CoroutineScripts(body=five_calls), lookups=lookups)
    await case.waits()
    case.answer_one()
    lookups.stopped = "Eve stopped all actions: wait."

    reply = await case.done()

    assert reply["content"] == "Error: execute_script was not carried out. Eve stopped all actions: wait."
    assert case.scripts.began == 0
