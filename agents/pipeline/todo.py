"""The plan as a list to tick off: for people, for the file in the workspace, and for the agent at work. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from agents.craft.exchange import AgentOutput
from agents.engine.events import TodoItem
from agents.engine.states import AgentStatus
from agents.pipeline.effective_task import heading
from agents.pipeline.plans import Plan, PlanTask
from agents.runtime import attempts
from hyperagent.lib.clipping import one_line, tidy_beginning

CONTEXT_HEAD: Final = "[Active Task Context]"
CONTEXT_CHARS: Final = 2_000
TEXT_CHARS: Final = 200
INTENT_CHARS: Final = 120
CURRENT_CHARS: Final = 500
# Of the other lines, where the whole list is too long.
SHORT_CHARS: Final = 65

# Not done, and not for a fault of its own: told by the status itself.
UNFINISHED: Final = frozenset({AgentStatus.SKIPPED, AgentStatus.DELETED, AgentStatus.CANCELLED})
PENDING: Final = "pending"
COMPLETED: Final = "completed"
_SHOWN: Final[Mapping[str, str]] = {
    name: name for name in (PENDING, "running", COMPLETED, "failed", "skipped", "deleted")
} | {"cancelled": "skipped", "awaiting_user": "running"}


def state_of(output: AgentOutput) -> str:
    """How people see what became of a task: completed, failed, skipped, deleted or cancelled. What people decided
    against is skipped, as its agent is."""
    if output.task_done:
        return COMPLETED
    if output.error in attempts.BLOCKED:
        return AgentStatus.SKIPPED.value
    return output.error if output.error and output.error in UNFINISHED else "failed"


def items(plan: Plan, states: Mapping[str, str]) -> tuple[TodoItem, ...]:
    """`states`: the status of each task that has begun or ended, by its id."""
    return tuple(
        TodoItem(id=task.id, text=_one_line(task, TEXT_CHARS), status=_status(task, states)) for task in plan.tasks
    )


def checklist(plan: Plan, states: Mapping[str, str]) -> str:
    """The whole plan as Markdown."""
    lines = [_line(task, _status(task, states), TEXT_CHARS) for task in plan.tasks]
    return "\n".join([f"# {plan.intent.strip() or 'Plan'}", "", *lines]) + "\n"


def active_context(plan: Plan, states: Mapping[str, str], current: str) -> str:
    """The plan for the agent that works on task `current`: at most 2,000 characters, its own task marked.

    Where not all of it fits, the other tasks are cut to their beginnings, and then left out from both ends.
    """
    intent = f"\nThe whole: {tidy_beginning(one_line(plan.intent), INTENT_CHARS)}" if plan.intent.strip() else ""
    head = f"{CONTEXT_HEAD}{intent}\n"
    for width in (TEXT_CHARS, SHORT_CHARS):
        lines = [_marked(task, states, current, width) for task in plan.tasks]
        if len(head) + len("\n".join(lines)) <= CONTEXT_CHARS:
            return head + "\n".join(lines)
    place = next((number for number, task in enumerate(plan.tasks) if task.id == current), 0)
    return head + _around(lines, place, CONTEXT_CHARS - len(head))


def _around(lines: Sequence[str], place: int, room: int) -> str:
    """The line at `place` and as many around it as fit, with the numbers of those that are left out."""
    first, last = place, place
    shown = _window(lines, first, last)
    while True:
        wider = [
            (start, end)
            for start, end in ((first, last + 1), (first - 1, last))
            if start >= 0 and end < len(lines) and len(_window(lines, start, end)) <= room
        ]
        if not wider:
            return shown
        first, last = wider[0]
        shown = _window(lines, first, last)


def _window(lines: Sequence[str], first: int, last: int) -> str:
    after = len(lines) - 1 - last
    before_line = [f"({first} more before)"] if first else []
    after_line = [f"({after} more after)"] if after else []
    return "\n".join([*before_line, *lines[first : last + 1], *after_line])


def _marked(task: PlanTask, states: Mapping[str, str], current: str, width: int) -> str:
    if task.id != current:
        return _line(task, _status(task, states), width)
    return f"- [ ] {task.agent}: {_one_line(task, CURRENT_CHARS)}  <- your task"


def _line(task: PlanTask, status: str, width: int) -> str:
    box = "x" if status == COMPLETED else " "
    said = "" if status in (PENDING, COMPLETED) else f" ({status})"
    return f"- [{box}] {task.agent}: {_one_line(task, width)}{said}"


def _status(task: PlanTask, states: Mapping[str, str]) -> str:
    return _SHOWN.get(states.get(task.id, PENDING), "failed")


def _one_line(task: PlanTask, limit: int) -> str:
    return tidy_beginning(one_line(heading(task.task)), limit)
