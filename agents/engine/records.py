"""What is written down of a run, and what is read back to resume it. Plain values; storing them is somebody else's."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from agents.engine.events import Body
from agents.engine.states import AgentStatus, EffectStatus, InterventionKind, StepKind, StepStatus

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A recorded contact with the outside, at its path in its agent's journal. `request`: a JSON value, or Written.

    `effect_key`: of an effect, its key in the ledger; of a question, the key under which an answer to it is found
    again; empty otherwise.
    """

    agent_id: UUID
    path: Path
    kind: StepKind
    name: str
    request: Any
    request_hash: bytes
    status: StepStatus
    response: Any = None
    effect_key: str = ""
    usage: Any = None

    def remembered(self) -> "StepRecord":
        """As a run keeps it while it is driven. What a model was asked and a child was handed is long, and of both only
        the hash is looked at again; it stays in the store."""
        if self.kind is StepKind.MODEL:
            return replace(self, request=None)
        if self.kind is StepKind.FORK:
            return replace(self, request={name: value for name, value in self.request.items() if name != "input"})
        return self


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """A row of the ledger. Written as started, and committed, before the world is touched.

    `agent_id`: who tried it last. `started_at`: when that was, for people to read; equal rows may differ in it.
    """

    key: str
    agent_id: UUID
    tool: str
    arguments: Any
    arguments_hash: bytes
    status: EffectStatus
    response: Any = None
    started_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """A node of the agent tree in its newest state. `lineage` names its place, the same on every replay.

    `output` of one that failed is the failure as JSON; `error` says in words why there is no result. `depends_on`: the
    agents that had to end before it began. `user_content`: a person's instructions in place of its task.
    """

    id: UUID
    parent_id: UUID | None
    name: str
    lineage: str
    task: str
    status: AgentStatus
    output: Any = None
    error: str = ""
    step_id: str = ""
    depends_on: tuple[UUID, ...] = ()
    user_comment: str = ""
    user_content: str = ""
    modified: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a person, opened together with its step. `question` is what `hitl` stores of it."""

    request_id: UUID
    agent_id: UUID
    agent_name: str
    kind: str
    question: Any


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nobody waits for the answers to these requests any more."""

    request_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Intervention:
    """What a person wants, as it was written down outside of the run. `agent_id` is None for all agents."""

    id: UUID
    agent_id: UUID | None
    kind: InterventionKind
    text: str
    applied: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """An intervention has taken effect; stands in one write with whatever it changed, so it does so once."""

    intervention_id: UUID


@dataclass(frozen=True, slots=True)
class Cut:
    """The journal of an agent ends before `path`: what was recorded in that scope from there on no longer counts."""

    agent_id: UUID
    path: Path
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Announced:
    """An event, not yet numbered. `origin` is the place in the program that emitted it; empty for token frames."""

    agent_id: UUID | None
    body: Body
    origin: str = ""


Record = StepRecord | EffectRecord | AgentRecord | Asked | Withdrawn | Applied | Cut | Announced


@dataclass(slots=True)
class Loaded:
    """Everything that was recorded of a run when its driver took it over.

    `interventions`, in the order in which they were made: what is not applied yet, and all that people said.
    `answered` and `done_before` are what cuts did not undo: questions with their answers, and the effects that
    happened, by their keys.
    """

    agents: dict[str, AgentRecord] = field(default_factory=dict)
    steps: dict[UUID, dict[Path, StepRecord]] = field(default_factory=dict)
    effects: dict[str, EffectRecord] = field(default_factory=dict)
    answers: dict[UUID, Any] = field(default_factory=dict)
    interventions: dict[UUID, Intervention] = field(default_factory=dict)
    origins: set[str] = field(default_factory=set)
    shown: dict[tuple[UUID, str], int] = field(default_factory=dict)
    answered: dict[str, StepRecord] = field(default_factory=dict)
    done_before: set[str] = field(default_factory=set)

    def fell(self, step: StepRecord) -> None:
        """A cut took this step. What people said and what happened in the world stays known."""
        if step.status is not StepStatus.FINISHED or not step.effect_key:
            return
        if step.kind is StepKind.ASK:
            self.answered[step.effect_key] = step
        else:
            self.done_before.add(step.effect_key)
