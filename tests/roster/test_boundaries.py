"""Where agents, tools and people meet: what one may not do to the other, each once found to be possible."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agents import registry
from agents.craft.exchange import AgentInput, RetryConfig, Work
from agents.craft.middleware.loop_guard import hash_of
from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.pipeline.work import commission, work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from agents.tools.gateway import Gateway
from hyperagent.lib.llm.types import ToolCall
from tests.roster.driving import Cases, calls, says, task_for
from tests.scripted.script import Script, ScriptedCall
from tests.tools.doubles import APPROVE_ALL, FakeMailbox, fake_providers
from tests.tools.driving import case_of

BOSS = AgentSpec(
    name="boss",
    description="Has others do what it is asked for.",
    capabilities=("asking",),
    typical_use_cases=("Have it done", "Let others do it"),
)


@pytest.mark.spec("S41", "S182")
async def test_who_takes_over_works_within_its_own_limits(cases: Cases) -> None:
    cases.server.script(calls("handoff_to_research", task_description="Look"), says("x", times=0))
    case = cases(task_for("chat", "Look", retry_config=RetryConfig(max_retries=2, timeout_s=600)), fake_providers())

    await case.drive()

    steps = case.store.steps(case.execution_id)
    (fork,) = [step for step in steps if step.kind is StepKind.FORK and step.name == "research"]
    assert fork.request["input"]["input"]["retry_config"]["timeout_s"] == registry.specs()["research"].timeout_s


@pytest.mark.spec("S42", "S45")
async def test_of_two_handoffs_in_one_reply_the_first_counts(cases: Cases) -> None:
    both = [
        ScriptedCall(name="handoff_to_code", arguments='{"task_description": "a"}'),
        ScriptedCall(name="handoff_to_writing", arguments='{"task_description": "b"}'),
    ]
    cases.server.script(Script(tool_calls=both), says("x", times=0))
    case = cases(task_for("chat", "Look"), fake_providers())

    await case.drive()

    assert [event["target_agent"] for event in case.events("handoff")] == ["code"]


async def test_people_never_read_the_marks_of_quoted_text(cases: Cases) -> None:
    cases.server.script(calls("web_search", query="acme"), Script(text=""), Script(text=""))

    output = await cases(task_for("chat", "Find acme"), fake_providers()).output()

    assert output.result
    assert "<untrusted" not in output.result


@pytest.mark.spec("S83")
def test_arguments_nested_beyond_reason_do_not_break_the_loop_guard() -> None:
    deep = "[" * 100_000
    call = ToolCall(id="1", name="web_search", arguments=deep)

    assert hash_of([call]) == hash_of([call])


@pytest.mark.spec("B13", "S25")
async def test_a_task_of_a_plan_changes_the_world_by_no_tool_that_it_was_not_given() -> None:
    mailbox = FakeMailbox()
    task = AgentInput(agent_id="mail-1", agent_name="mail", task="Look", tools=("search_inbox",))

    async def program(context: AgentContext) -> Any:
        inside = AgentContext(context.run, replace(context.agent, name="mail"))
        inside.task_input = task
        draft = await inside.tool("draft_email", {"to": ["bob@example.org"], "subject": "s", "body": "b"})
        found = await inside.tool("search_inbox", {"query": "bob"})
        return [draft.data, found.is_error]

    end = await case_of(program, Gateway(fake_providers(mailbox=mailbox), checks=APPROVE_ALL), task=task).drive()

    assert end.value == [{"error": "not_planned"}, False]
    assert mailbox.drafts == []


@pytest.mark.spec("S182", "B2")
@pytest.mark.parametrize("by_child", [False, True])
async def test_what_an_agent_or_a_child_of_it_did_to_the_world_forbids_another_attempt(by_child: bool) -> None:
    mailbox = FakeMailbox()
    attempts: list[int] = []

    async def draft(context: AgentContext) -> None:
        inside = AgentContext(context.run, replace(context.agent, name="mail"))
        wording = f"wording {len(attempts)}"  # a model never says it the same way twice
        assert not (await inside.tool("draft_email", {"to": ["b@c.org"], "subject": "s", "body": wording})).is_error

    async def child(context: AgentContext, value: Any) -> Any:
        await draft(context)
        return {}

    async def run(context: AgentContext, task: AgentInput) -> Work:
        attempts.append(1)
        await (context.wait(await context.fork("child", {})) if by_child else draft(context))

        async def slow() -> Outcome:
            await asyncio.Event().wait()
            return Outcome(None)

        await context.step(StepKind.MODEL, "slow", None, slow)
        return Work(result="done")

    async def program(context: AgentContext) -> Any:
        limits = RetryConfig(max_retries=1, timeout_s=0.3)
        task = AgentInput(agent_id="b-1", agent_name="boss", task="t", retry_config=limits)
        return (await context.outcome(await context.fork("boss", commission(task)))).code

    others = {"boss": partial(work, Agent(BOSS, run)), "child": child}
    gateway = Gateway(fake_providers(mailbox=mailbox), checks=APPROVE_ALL)

    assert (await case_of(program, gateway, others=others).drive()).value == "timed_out"
    assert (len(attempts), len(mailbox.drafts)) == (1, 1)
