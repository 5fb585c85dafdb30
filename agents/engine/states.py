"""The states of executions, agents, steps and effects, and which moves are legal. The database refuses others too."""

from collections.abc import Mapping
from enum import StrEnum


class ExecutionStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    AWAITING_USER = "awaiting_user"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AgentStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    AWAITING_USER = "awaiting_user"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    DELETED = "deleted"


LIVE_AGENTS = frozenset({AgentStatus.PENDING, AgentStatus.RUNNING, AgentStatus.AWAITING_USER})


INPUT_VERSION = 1
"""Of what a run starts from. A driver that knows only an older one leaves such a run alone."""


class InterventionKind(StrEnum):
    """What a person wants of an agent that is not over; `steer` is for every agent of the run that listens."""

    DELETE = "delete"
    MODIFY = "modify"
    COMMENT = "comment"
    STEER = "steer"


class StepKind(StrEnum):
    """What a step contacted: a model, a tool, a person, a child agent, or a value that must not change on replay."""

    MODEL = "model"
    TOOL = "tool"
    ASK = "ask"
    FORK = "fork"
    NOTE = "note"


class StepStatus(StrEnum):
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"


class EffectStatus(StrEnum):
    """`in_doubt`: started, and nobody recorded how it ended."""

    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    SKIPPED = "skipped"


EXECUTION_MOVES: Mapping[ExecutionStatus, frozenset[ExecutionStatus]] = {
    ExecutionStatus.PENDING: frozenset({ExecutionStatus.RUNNING, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED}),
    ExecutionStatus.RUNNING: frozenset(
        {
            ExecutionStatus.PENDING,
            ExecutionStatus.AWAITING_USER,
            ExecutionStatus.COMPLETED,
            ExecutionStatus.FAILED,
            ExecutionStatus.CANCELLED,
        }
    ),
    ExecutionStatus.AWAITING_USER: frozenset(
        {ExecutionStatus.PENDING, ExecutionStatus.RUNNING, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED}
    ),
    ExecutionStatus.COMPLETED: frozenset(),
    ExecutionStatus.FAILED: frozenset(),
    ExecutionStatus.CANCELLED: frozenset(),
}

TERMINAL_STATUSES = frozenset(status for status, moves in EXECUTION_MOVES.items() if not moves)


class IllegalMove(ValueError):
    """A status that was asked for does not follow from the present one."""


def may_move(now: ExecutionStatus, then: ExecutionStatus) -> bool:
    return then in EXECUTION_MOVES[now]


def move(now: ExecutionStatus, then: ExecutionStatus) -> ExecutionStatus:
    """Returns `then` if it may follow `now`; raises IllegalMove otherwise."""
    if not may_move(now, then):
        allowed = ", ".join(sorted(EXECUTION_MOVES[now])) or "nothing: it is final"
        raise IllegalMove(f"an execution that is {now} cannot become {then}; what may follow: {allowed}")
    return then
