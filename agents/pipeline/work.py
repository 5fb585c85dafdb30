"""One agent at work: its input made whole, its limits held, its output in the form that all others read.

What the roster's folders leave out is here, once for all of them: dependencies, retries, time limits, handoffs.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from agents.engine.context import Outcome
from agents.engine.errors import Skipped, StepFailed
from agents.engine.events import PlanStep
from agents.engine.journal import is_within
from agents.engine.states import AgentStatus, StepKind
from agents.exchange import (
    AgentInput,
    AgentOutput,
    DependencyOutput,
    HandoffInfo,
    OutputMetadata,
    ResourceUsage,
    RetryConfig,
    Work,
)
from agents.pipeline import approving, artifacts, blackboard, citations, todo
from agents.pipeline.plans import Plan, planned_steps
from agents.registry import Agent, specs
from agents.runtime import attempts
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from agents.tools.checks import Instructed

log = structlog.get_logger(__name__)

# Errors that the agents after it are to read and tell of, rather than not to start at all: a person decided so.
DECIDED_BY_PEOPLE: Final = attempts.BLOCKED
# How often an agent begins anew because a call of its own code was approved with instructions.
TIMES_INSTRUCTED: Final = 3
# The model gateway has already waited and tried elsewhere: the same agent again would only wait again.
TRIED_ENOUGH: Final = frozenset({"model_busy", "model_unavailable"})
FIRST_BACKOFF_S: Final = 0.5


def retry_config(spec: AgentSpec) -> RetryConfig:
    return RetryConfig(max_retries=spec.max_retries, timeout_s=spec.timeout_s)


def commission(task: AgentInput, plan: Plan | None = None) -> dict[str, Any]:
    """What an agent is forked with. The plan goes with it so that it knows its place."""
    return {"input": task.model_dump(mode="json"), "plan": plan.model_dump(mode="json") if plan else None}


async def work(agent: Agent, context: AgentContext, value: Mapping[str, Any]) -> dict[str, Any]:
    """The program of every agent of the roster: `value` is a `commission`, the result an AgentOutput as JSON.

    Raises Skipped if what it depends on is missing, StepFailed if it could not be done at all.
    """
    began = await context.now()
    plan = Plan.model_validate(value["plan"]) if value["plan"] else None
    task, depends_on = _made_whole(AgentInput.model_validate(value["input"]), value, plan)
    context.task_input = task
    if context.run.tools is not None:
        context.connected = await context.run.tools.connected(context)
        task = context.task_input = _with_connected(task, agent.spec, context.connected)
    if plan is not None:
        step = next(step for step in planned_steps(plan) if step.id == task.agent_id)
        context.emit(PlanStep(step=step))
    let_in = await approving.let_in(context, agent.spec, task)
    if not isinstance(let_in, AgentInput):
        return await _told(context, task, let_in, depends_on, began)
    put = await artifacts.put_back(context, let_in, agent.spec)
    try:
        task, done = await _as_people_want_it(agent, context, let_in)
        output = await _told(context, task, done, depends_on, began)
    except (StepFailed, Skipped):
        await artifacts.clear_away(context, put)
        raise
    await artifacts.clear_away(context, put)
    return output


async def _told(
    context: AgentContext, task: AgentInput, done: Work, depends_on: tuple[str, ...], began: datetime
) -> dict[str, Any]:
    """The output of an agent's work, said where it speaks; that of whoever takes over, where it handed its task on."""
    if done.handoff is not None:
        return await _handed_over(context, task, done, done.handoff)
    if task.speaks:
        done = done.model_copy(update={"result": await context.say(done.result)})
    return _output(context, task, done, depends_on, began).model_dump(mode="json")


def _made_whole(task: AgentInput, value: Mapping[str, Any], plan: Plan | None) -> tuple[AgentInput, tuple[str, ...]]:
    """The input with what became known since it was written: other agents' outputs, a person's new instructions."""
    outputs = dict(task.dependency_outputs)
    board = task.shared_memory
    states: dict[str, str] = {}
    for found in value.get("dependencies", {}).values():
        outputs[found["step_id"]], shared = _dependency(found)
        states[found["step_id"]] = "completed" if outputs[found["step_id"]].task_done else "failed"
        board = blackboard.merge(board, shared)
    missing = _missing(list(outputs.values()))
    if missing:
        names = " and ".join(dict.fromkeys(output.agent_name for output in missing))
        raise Skipped(f"Not begun: what it needs from {names} was not done.")
    changed: dict[str, Any] = {"dependency_outputs": outputs, "shared_memory": blackboard.within_budget(board)}
    if value.get("modified"):
        changed["task"] = value["task"]
    if plan is not None:
        changed["active_context"] = todo.active_context(plan, states, current=task.agent_id)
    return task.model_copy(update=changed), tuple(outputs)


def _with_connected(task: AgentInput, spec: AgentSpec, connected: Mapping[str, Any]) -> AgentInput:
    """A task that was given all that its agent has has the tools of connected servers as well; one that was given
    some of it has those alone."""
    if not connected or not task.tools or not set(spec.tools) <= set(task.tools):
        return task
    return task.model_copy(update={"tools": tuple(dict.fromkeys([*task.tools, *connected]))})


def _missing(outputs: Sequence[DependencyOutput]) -> list[DependencyOutput]:
    """Those without which the agent does not begin. What a person stopped is one only if nothing else is there."""
    unfinished = [output for output in outputs if not output.task_done and output.error not in DECIDED_BY_PEOPLE]
    if any(output.task_done for output in outputs):
        return [output for output in unfinished if output.error != AgentStatus.DELETED]
    return unfinished


def _dependency(found: Mapping[str, Any]) -> tuple[DependencyOutput, dict[str, Any]]:
    if found["status"] == AgentStatus.COMPLETED:
        output = AgentOutput.model_validate(found["output"])
        return output.as_dependency(), output.shared
    stopped = found["status"] == AgentStatus.DELETED
    why = found["error"]["message"] if found["error"] and not stopped else found["status"]
    return DependencyOutput(agent_name=found["name"], task_description="", task_done=False, error=why), {}


async def _as_people_want_it(agent: Agent, context: AgentContext, task: AgentInput) -> tuple[AgentInput, Work]:
    """The agent's work, begun anew with what a person said where its code could not follow that by itself; and the
    task as it was worked on.
    """
    said: Instructed
    for _ in range(TIMES_INSTRUCTED):
        context.task_input = task
        try:
            done = await _with_retries(agent, context, task)
        except Instructed as instructed:
            said = instructed
            context.withdraw("the task was changed")
            task = approving.as_instructed(task, said)
        else:
            return approving.as_worked_on(task, context.attempts), approving.told(done, context.attempts)
    return task, approving.not_done(said.refusal)


async def _with_retries(agent: Agent, context: AgentContext, task: AgentInput) -> Work:
    """Tries again what may succeed the next time, unless something of it has already changed the world."""
    lacking = await _lacking(agent.spec, context)
    if lacking:
        return Work(result=lacking, done=False, error="not_configured", confidence=0)
    limits = task.retry_config
    for attempt in range(limits.max_retries + 1):
        context.attempts.clear()
        try:
            done: Work = await context.within(
                limits.timeout_s, lambda inside: agent.run(inside, task), name=agent.spec.name
            )
            return done
        except StepFailed as error:
            last = attempt == limits.max_retries
            if last or not error.retryable or error.code in TRIED_ENOUGH or await _has_effects(context):
                raise
            wait_s = FIRST_BACKOFF_S * limits.backoff_multiplier**attempt
            log.info("agent.again", agent=agent.spec.name, why=error.code, wait_s=wait_s)
            await _pause(context, wait_s)
            context.withdraw("the agent tries again")
    raise AssertionError("the last attempt returns or raises")


async def _lacking(spec: AgentSpec, context: AgentContext) -> str:
    """Which providers the agent cannot do without and does not have, in words; noted, so that a replay agrees."""
    door = context.run.tools
    if not spec.needs or door is None:
        return ""

    async def perform() -> Outcome:
        return Outcome(await door.lacks_for(context.run.about, spec.needs))

    lacking: str = await context.step(StepKind.NOTE, "lacking", None, perform)
    return lacking


async def _has_effects(context: AgentContext) -> bool:
    def found() -> bool:
        mine = {one.id for one in context.run.loaded.agents.values() if is_within(one.lineage, context.agent.lineage)}
        return any(effect.agent_id in mine for effect in context.run.loaded.effects.values())

    changed_the_world: bool = await context.note("has_effects", found)
    return changed_the_world


async def _pause(context: AgentContext, wait_s: float) -> None:
    async def perform() -> Outcome:
        await asyncio.sleep(wait_s)
        return Outcome(None)

    await context.step(StepKind.NOTE, "backoff", None, perform)


async def _handed_over(context: AgentContext, task: AgentInput, done: Work, handoff: HandoffInfo) -> dict[str, Any]:
    """Another agent goes on with the task, as a child of this one; its output takes the place of ours."""
    context.withdraw("another agent goes on")
    handoff = await artifacts.given_along(context, handoff)
    board = blackboard.within_budget(blackboard.merge(task.shared_memory, done.shared))
    onward = task.model_copy(
        update={
            "agent_name": handoff.target_agent,
            "task": handoff.task_description,
            "handoffs": (*task.handoffs, handoff),
            "shared_memory": board,
            "skill": None,
            "tools": (),
            "retry_config": retry_config(specs()[handoff.target_agent]),
        }
    )
    handle = await context.fork(
        handoff.target_agent, commission(onward), task=handoff.task_description, takes_over=True
    )
    output: dict[str, Any] = await context.wait(handle)
    return output


def _output(
    context: AgentContext, task: AgentInput, done: Work, depends_on: tuple[str, ...], began: datetime
) -> AgentOutput:
    tokens, calls = context.run.used_by(context.agent.id)
    taken = int((datetime.now(UTC) - began).total_seconds() * 1000)
    return AgentOutput(
        agent_id=task.agent_id,
        agent_name=task.agent_name,
        task_description=task.task,
        task_done=done.done,
        result=done.result,
        data=done.data,
        partial_data=done.partial_data,
        error=done.error,
        confidence_score=done.confidence,
        depends_on=depends_on,
        resource_usage=ResourceUsage(time_taken_ms=max(0, taken), tokens_used=tokens, api_calls_made=calls),
        metadata=OutputMetadata(
            sources=done.sources,
            citations=citations.cited(done.result, len(done.sources)),
            model_used=done.model_used,
        ),
        shared=done.shared,
    )
