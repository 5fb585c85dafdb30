"""A plan at work: every task an agent of its own, each begun as soon as what it depends on is done. No stages here."""

from collections.abc import Container, Mapping, Sequence
from functools import reduce
from typing import Any

from agents.craft.exchange import AgentInput, AgentOutput
from agents.engine.context import Handle
from agents.engine.errors import StepFailed
from agents.engine.events import ParallelComplete, ParallelStart, ParallelTask, PlanStepCompleted, TodoUpdate
from agents.engine.states import AgentStatus
from agents.pipeline import todo
from agents.pipeline.blackboard import Board
from agents.pipeline.carried_out import with_carried_out
from agents.pipeline.plans import Plan, PlanTask, stages
from agents.pipeline.todo_file import TodoFile
from agents.pipeline.work import as_dependency, board_of, commission, known_of, retry_config
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec


async def dispatch(
    context: AgentContext,
    plan: Plan,
    *,
    brief: AgentInput,
    roster: Mapping[str, AgentSpec],
    done: Mapping[str, AgentOutput],
) -> dict[str, AgentOutput]:
    """The outputs of the plan's tasks, by their ids; what was `done` before is kept and not worked on again.

    `brief` has what all agents of the run are told. A task that failed, was skipped or was stopped has an output too,
    which says so; so has one for which the run has no agent left. Nothing is raised but for the run as a whole.
    """
    open_tasks = [task for task in _in_order(plan) if task.id not in done]
    handles: dict[str, Handle] = {}
    refused: dict[str, AgentOutput] = {}
    for task in open_tasks:
        if lost := next((other for other in task.depends_on if other in refused), None):
            refused[task.id] = _undone(task, "skipped", f"{refused[lost].agent_name} did not begin.")
            continue
        value = _commission_of(task, plan, brief, roster, done)
        after = [handles[other] for other in task.depends_on if other in handles]
        try:
            handles[task.id] = await context.fork(task.agent, value, task=task.task, after=after, step_id=task.id)
        except StepFailed as error:
            refused[task.id] = _undone(task, error.code, error.message)
    states = {task_id: todo.state_of(output) for task_id, output in done.items()}
    together = _together(open_tasks, handles)
    if together:
        context.emit(ParallelStart(agents=together))
    file = TodoFile(plan, states)

    async def watch(branch: AgentContext, task: PlanTask) -> AgentOutput:
        output = refused.get(task.id) or await _outcome(branch, task, handles[task.id])
        states[task.id] = todo.state_of(output)
        branch.emit(PlanStepCompleted(step_id=task.id, status=states[task.id], error=output.error))
        branch.emit(TodoUpdate(items=todo.items(plan, states)))
        if task.id in together:
            branch.emit(ParallelTask(agent=task.id, status=states[task.id]))
        await file.write(branch, after=task.id)
        return output if task.id in refused else await with_carried_out(branch, output, handles[task.id].agent_id)

    watched = [lambda branch, task=task: watch(branch, task) for task in open_tasks]
    # The list is written first in a branch of its own, which no task waits for.
    *found, _ = await context.all(*watched, file.write)
    if together:
        context.emit(ParallelComplete(agents=together))
    return {**done, **{task.id: output for task, output in zip(open_tasks, found, strict=True)}}


def _together(tasks: Sequence[PlanTask], begun: Container[str]) -> tuple[str, ...]:
    """The ids of those that work side by side from the start, having nobody to wait for; empty if it is only one."""
    first = [task.id for task in tasks if task.id in begun and not any(other in begun for other in task.depends_on)]
    return tuple(first) if len(first) > 1 else ()


def _in_order(plan: Plan) -> list[PlanTask]:
    by_id = {task.id: task for task in plan.tasks}
    return [by_id[task_id] for stage in stages(plan) for task_id in stage]


def _commission_of(
    task: PlanTask,
    plan: Plan,
    brief: AgentInput,
    roster: Mapping[str, AgentSpec],
    done: Mapping[str, AgentOutput],
) -> dict[str, Any]:
    spec = roster[task.agent]
    before = {other: done[other] for other in task.depends_on if other in done}
    board = reduce(Board.beside, map(board_of, before.values()), Board(brief.shared_memory, {}))
    handed = brief.model_copy(
        update={
            "agent_id": task.id,
            "agent_name": task.agent,
            "task": task.task,
            "entities": {**plan.entities, **task.entities},
            "tools": task.tools or spec.tools,
            "expected_outcome": task.expected_outcome,
            "retry_config": retry_config(spec),
            "dependency_outputs": {other: as_dependency(output, board) for other, output in before.items()},
            "shared_memory": dict(board.fields),
            "speaks": False,
            "skill": None,
        }
    )
    states = {task_id: todo.state_of(output) for task_id, output in done.items()}
    return commission(handed, plan, known_of(board, states))


async def _outcome(context: AgentContext, task: PlanTask, handle: Handle) -> AgentOutput:
    """What became of a task, also where it did not become anything."""
    ended = await context.outcome(handle)
    if ended.status is AgentStatus.COMPLETED:
        return AgentOutput.model_validate(ended.output).model_copy(update={"agent_id": task.id})
    error = ended.status if ended.status in todo.UNFINISHED else ended.code or "failed"
    return _undone(task, error, ended.message, status=ended.status)


def _undone(task: PlanTask, error: str, message: str, *, status: AgentStatus = AgentStatus.FAILED) -> AgentOutput:
    partial: dict[str, Any] = {"status": status.value, "message": message}
    return AgentOutput(
        agent_id=task.id,
        agent_name=task.agent,
        task_description=task.task,
        task_done=False,
        error=error,
        partial_data=partial,
        confidence_score=0,
        depends_on=task.depends_on,
    )
