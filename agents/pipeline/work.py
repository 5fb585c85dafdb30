"""One agent at work: its input made whole, its limits held, its output in the form that all others read.

What the roster's folders leave out is here, once for all of them: dependencies, retries, time limits, handoffs.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from agents.craft.exchange import (
    AgentInput,
    AgentOutput,
    DependencyOutput,
    HandoffInfo,
    Known,
    OutputMetadata,
    ResourceUsage,
    RetryConfig,
    Work,
)
from agents.engine.context import Outcome
from agents.engine.errors import Skipped, StepFailed
from agents.engine.events import PlanStep, Source
from agents.engine.journal import is_within
from agents.engine.states import AgentStatus, StepKind
from agents.engine.tree import Undone
from agents.pipeline import approving, artifacts, carried_out, citations, todo
from agents.pipeline.blackboard import Board
from agents.pipeline.handoffs import HandoffManager
from agents.pipeline.plans import Plan, planned_steps
from agents.registry import Agent, specs
from agents.runtime import attempts
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from agents.tools.checks import Instructed
from agents.tuning.values import Tuning

log = structlog.get_logger(__name__)

# Errors that the agents after it are to read and tell of, rather than not to start at all: a person decided so.
DECIDED_BY_PEOPLE: Final = attempts.BLOCKED
# How often an agent begins anew because a call of its own code was approved with instructions.
TIMES_INSTRUCTED: Final = 3
# The model gateway has already waited and tried elsewhere: the same agent again would only wait again.
TRIED_ENOUGH: Final = frozenset({"model_busy", "model_unavailable"})
FIRST_BACKOFF_S: Final = 0.5
NOTHING_KNOWN: Final = Known()


def retry_config(spec: AgentSpec) -> RetryConfig:
    return RetryConfig(max_retries=spec.max_retries, timeout_s=spec.timeout_s)


def board_of(output: AgentOutput) -> Board:
    return _board(output.shared, output.known)


def known_of(board: Board, states: Mapping[str, str]) -> Known:
    """For those who get this board."""
    return Known(states=dict(states), writes=dict(board.writes), results=board.results, sources=board.sources)


def as_dependency(output: AgentOutput, board: Board) -> DependencyOutput:
    """As whoever is handed this board learns of it: by the board's numbers of sources."""
    told = output.as_dependency()
    if not output.known.sources:
        return told
    return told.model_copy(update={"result": board.by_its_numbers(told.result, output.metadata.sources)})


def _board(fields: Mapping[str, Any], known: Known) -> Board:
    return Board(fields, known.writes, known.results, known.sources)


def commission(task: AgentInput, plan: Plan | None = None, known: Known = NOTHING_KNOWN) -> dict[str, Any]:
    """What an agent is forked with. The plan goes with it so that it knows its place."""
    more = {"known": known.model_dump(mode="json")} if known != NOTHING_KNOWN else {}
    return {"input": task.model_dump(mode="json"), "plan": plan.model_dump(mode="json") if plan else None, **more}


@dataclass(frozen=True, slots=True)
class _Handed:
    """What goes on from agent to agent. `depends_on`: ids of the plan."""

    depends_on: tuple[str, ...]
    board: Board
    states: Mapping[str, str]
    numbers_sources: bool
    """Whether the agent numbers sources itself."""

    def sources_of(self, done: Work) -> tuple[Source, ...]:
        """Those that numbers in its texts name: else they are of those that it was told of, before its own."""
        if self.numbers_sources or not self.board.sources:
            return done.sources
        return citations.number([self.board.sources, done.sources]).sources


async def work(agent: Agent, context: AgentContext, value: Mapping[str, Any]) -> dict[str, Any] | Undone:
    """The program of every agent of the roster: `value` is a `commission`, the result an AgentOutput as JSON, as an
    Undone where its task was not done.

    Raises Skipped if what it depends on is missing, StepFailed if it could not be done at all.
    """
    began = await context.now()
    plan = Plan.model_validate(value["plan"]) if value["plan"] else None
    task, handed = _made_whole(AgentInput.model_validate(value["input"]), value, plan, agent.spec)
    if value.get("modified"):
        task = _knowing(task, await carried_out.noted(context, context.agent.id))
    agent, task = _as_tuned(agent, task, context.run.tuning_of(agent.spec.name))
    context.task_input = task
    if context.run.tools is not None:
        context.connected = await context.run.tools.connected(context)
        task = context.task_input = _with_connected(task, agent.spec, context.connected)
    if plan is not None:
        step = next(step for step in planned_steps(plan) if step.id == task.agent_id)
        context.emit(PlanStep(step=step))
    let_in = await approving.let_in(context, agent.spec, task)
    if not isinstance(let_in, AgentInput):
        return _as_it_ended(await _told(context, task, let_in, handed, began))
    put = await artifacts.put_back(context, let_in, agent.spec)
    try:
        task, done = await _as_people_want_it(agent, context, let_in)
        output = await _told(context, task, done, handed, began)
    except (StepFailed, Skipped):
        await artifacts.clear_away(context, put)
        raise
    await artifacts.clear_away(context, put)
    return _as_it_ended(output)


def _as_it_ended(output: dict[str, Any]) -> dict[str, Any] | Undone:
    if output["task_done"]:
        return output
    error = output["error"] or "failed"
    return Undone(output, error, AgentStatus.SKIPPED if error in DECIDED_BY_PEOPLE else AgentStatus.FAILED)


async def _told(
    context: AgentContext, task: AgentInput, done: Work, handed: _Handed, began: datetime
) -> dict[str, Any]:
    """The output of an agent's work, said where it speaks; that of whoever takes over, where it handed its task on."""
    if done.handoff is not None:
        return await _handed_over(context, task, done, done.handoff, handed)
    if task.speaks:
        done = done.model_copy(update={"result": await context.say(done.result)})
    return _output(context, task, done, handed, began).model_dump(mode="json")


def _made_whole(
    task: AgentInput, value: Mapping[str, Any], plan: Plan | None, spec: AgentSpec
) -> tuple[AgentInput, _Handed]:
    """The input with what became known since it was written: other agents' outputs, a person's new instructions."""
    known = Known.model_validate(value.get("known", {}))
    board = _board(task.shared_memory, known)
    states = dict(known.states)
    ended = {found["step_id"]: _ended(found) for found in value.get("dependencies", {}).values()}
    for step_id, output in ended.items():
        states |= {**output.known.states, step_id: todo.state_of(output)}
        board = board.beside(board_of(output))
    outputs = {**task.dependency_outputs, **{one: as_dependency(output, board) for one, output in ended.items()}}
    missing = _missing(list(outputs.values()))
    if missing:
        names = " and ".join(dict.fromkeys(output.agent_name for output in missing))
        raise Skipped(f"Not begun: what it needs from {names} was not done.")
    board = board.within_budget()
    changed: dict[str, Any] = {"dependency_outputs": outputs, "shared_memory": board.told()}
    if spec.numbers_sources and board.sources:
        changed |= _unnumbered(outputs, board)
    if value.get("modified"):
        changed["task"] = value["task"]
    if plan is not None:
        changed["active_context"] = todo.active_context(plan, states, current=task.agent_id)
    return task.model_copy(update=changed), _Handed(tuple(outputs), board, states, spec.numbers_sources)


def _unnumbered(outputs: Mapping[str, DependencyOutput], board: Board) -> dict[str, Any]:
    """For an agent that numbers sources itself: it would take the numbers of others for its own."""
    results = {one: citations.renumber(told.result, {}) for one, told in outputs.items()}
    bare = {one: told.model_copy(update={"result": results[one]}) for one, told in outputs.items()}
    return {"dependency_outputs": bare, "shared_memory": board.unnumbered().told()}


def _knowing(task: AgentInput, did: Sequence[str]) -> AgentInput:
    """The task of an agent that begins anew, with what it did before: its journal has forgotten that."""
    if not did:
        return task
    before = f"Before these instructions, {carried_out.as_clause(did)}. Do that again only if they ask for it."
    return task.model_copy(update={"task": f"{task.task}\n\n{before}"})


def _as_tuned(agent: Agent, task: AgentInput, tuning: Tuning) -> tuple[Agent, AgentInput]:
    """What administrators chose for an agent holds wherever its task comes from: a plan, another agent, a tool."""
    return replace(agent, spec=agent.spec.tuned_by(tuning)), task.tuned_by(tuning)


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


def _ended(found: Mapping[str, Any]) -> AgentOutput:
    """What an agent that ended has brought, also where it was nothing."""
    if found["status"] == AgentStatus.COMPLETED:
        return AgentOutput.model_validate(found["output"])
    failure = found["error"]
    # It, or whoever took over from it.
    stopped = failure is not None and failure["code"] == AgentStatus.DELETED
    why = AgentStatus.DELETED.value if stopped else failure["message"] if failure else found["status"]
    return AgentOutput(
        agent_id=found["step_id"], agent_name=found["name"], task_description="", task_done=False, error=why
    )


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
    missing = await lacking(context, agent.spec)
    if missing:
        return Work(result=missing, done=False, error="not_configured", confidence=0)
    run = agent.run if task.capable else agent.run_small or agent.run
    limits = task.retry_config
    for attempt in range(limits.max_retries + 1):
        context.attempts.clear()
        try:
            done: Work = await context.within(limits.timeout_s, lambda inside: run(inside, task), name=agent.spec.name)
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


async def lacking(context: AgentContext, spec: AgentSpec) -> str:
    """Which providers the agent cannot do without and does not have, in words; noted, so that a replay agrees."""
    door = context.run.tools
    if not spec.needs or door is None:
        return ""

    async def perform() -> Outcome:
        return Outcome(await door.lacks_for(context.run.about, spec.needs))

    missing: str = await context.step(StepKind.NOTE, "lacking", None, perform)
    return missing


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


async def _handed_over(
    context: AgentContext, task: AgentInput, done: Work, handoff: HandoffInfo, handed: _Handed
) -> dict[str, Any]:
    """Another agent goes on with the task, as a child of this one; its output takes the place of ours."""
    context.withdraw("another agent goes on")
    handoff = await artifacts.given_along(context, handoff)
    board = handed.board.added(done.shared, sources=done.sources if handed.numbers_sources else ())
    onward = task.model_copy(
        update={
            "agent_name": handoff.target_agent,
            "task": handoff.task_description,
            "handoffs": HandoffManager(task.handoffs).record_handoff(handoff).handoff_history,
            "shared_memory": dict(board.fields),
            "skill": None,
            "tools": (),
            "retry_config": retry_config(specs()[handoff.target_agent]),
        }
    )
    value = commission(onward, known=known_of(board, handed.states))
    handle = await context.fork(handoff.target_agent, value, task=handoff.task_description, takes_over=True)
    output: dict[str, Any] = await context.wait(handle)
    return output


def _output(context: AgentContext, task: AgentInput, done: Work, handed: _Handed, began: datetime) -> AgentOutput:
    sources = handed.sources_of(done)
    cited = citations.cited(done.result, len(sources))
    board = _handed_on(task, done, handed.board, sources)
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
        depends_on=handed.depends_on,
        resource_usage=ResourceUsage(time_taken_ms=max(0, taken), tokens_used=tokens, api_calls_made=calls),
        metadata=OutputMetadata(
            sources=sources if cited else done.sources,
            citations=cited,
            model_used=done.model_used,
        ),
        shared=dict(board.fields),
        known=known_of(board, handed.states),
    )


def _handed_on(task: AgentInput, done: Work, board: Board, sources: tuple[Source, ...]) -> Board:
    """The board for those after this agent. Whoever speaks has nobody after it."""
    if task.speaks:
        return board.added(done.shared)
    return board.added(done.shared, results=_said(task, done), sources=sources)


def _said(task: AgentInput, done: Work) -> tuple[tuple[str, str], ...]:
    """Its result for those after it, by who it is; nothing where it stands in what it shares."""
    text = done.result.strip()
    if not done.done or not text or any(text in one for one in done.shared.values() if isinstance(one, str)):
        return ()
    return ((f"{task.agent_name} agent, {task.agent_id}", text),)
