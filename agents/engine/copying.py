"""What of a run that is over stays valid for another try: which agents, which steps. Pure; copying rows is elsewhere.

An agent that is to work again may come to another end. So whoever could have seen its old one forgets what came after:
the agents above it what they recorded from then on, the agents that depend on it everything. Each scope of a journal
keeps a beginning of what it had, and a replay goes on from there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from agents.engine.journal import depth_of, falls_to, is_below, is_within
from agents.engine.records import Path
from agents.engine.states import LIVE_AGENTS, AgentStatus, StepKind, StepStatus

NOTHING = datetime.min.replace(tzinfo=UTC)
EVERYTHING = datetime.max.replace(tzinfo=UTC)
WITHOUT_RESULT = frozenset({AgentStatus.FAILED, AgentStatus.SKIPPED, AgentStatus.DELETED})


@dataclass(frozen=True, slots=True)
class PastStep:
    """A step that counts. `began_at`: when it was first written down. `forked`: the lineage of the agent it began.

    `is_yes`: a person's, to an approval. `is_effect`: a step that changed the world, and is in the ledger.
    """

    id: int
    path: Path
    kind: StepKind
    status: StepStatus
    began_at: datetime
    forked: str = ""
    is_yes: bool = False
    is_effect: bool = False


@dataclass(frozen=True, slots=True)
class PastAgent:
    id: UUID
    parent_id: UUID | None
    lineage: str
    status: AgentStatus
    ended_at: datetime | None
    depends_on: tuple[UUID, ...]
    steps: tuple[PastStep, ...]
    was_refused: bool = False
    """Whether its task was left undone because somebody, or a rule, said no."""


@dataclass(frozen=True, slots=True)
class Kept:
    """`agents`: the status with which each begins in the copy. `steps`: the ids of those that are copied."""

    agents: Mapping[UUID, AgentStatus]
    steps: frozenset[int]


def failed_agents(agents: Iterable[PastAgent]) -> list[UUID]:
    """Those whose task was not done, and not because of one below them or of a no."""
    copy = _Copy(agents)
    failed = [
        agent
        for agent in copy.agents.values()
        if agent.status in WITHOUT_RESULT and not agent.was_refused and copy.counts(agent)
    ]
    return [
        agent.id
        for agent in failed
        if not any(other is not agent and is_within(other.lineage, agent.lineage) for other in failed)
    ]


def kept_for_retry(agents: Iterable[PastAgent], again: Iterable[UUID]) -> Kept:
    """These agents begin anew. A root that failed by itself goes on where it did."""
    copy = _Copy(agents)
    for agent_id in again:
        agent = copy.agents[agent_id]
        if agent.parent_id is None and agent.status is AgentStatus.FAILED:
            failed = [step.began_at for step in agent.steps if step.status is StepStatus.FAILED]
            copy.reopen(agent, max(failed, default=EVERYTHING))
        else:
            copy.reopen(agent, NOTHING)
    return copy.kept()


def kept_for_fork(agents: Iterable[PastAgent], agent_id: UUID, path: Path) -> Kept:
    """This agent goes on before the step at `path`."""
    copy = _Copy(agents)
    agent = copy.agents[agent_id]
    copy.drop(agent, [step for step in agent.steps if comes_after(path, step.path)])
    copy.reopen(agent, EVERYTHING)
    return copy.kept()


def comes_after(path: Path, other: Path) -> bool:
    """Whether `other` is `path` or may have seen what came of it: not so in branches beside it."""
    around = [path[: at + 1] for at in range(0, len(path) - 1, 2)]
    return falls_to(path, other) or any(other == call or falls_to((*call[:-1], call[-1] + 1), other) for call in around)


@dataclass(slots=True)
class _Copy:
    """Grows what is to be done again until nothing of the rest has seen anything of it."""

    past: Iterable[PastAgent]
    agents: dict[UUID, PastAgent] = field(default_factory=dict)
    _steps: dict[UUID, dict[int, PastStep]] = field(default_factory=dict)
    _until: dict[UUID, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agents = {agent.id: agent for agent in self.past}
        # A question without an answer is asked anew.
        self._steps = {
            agent.id: {step.id: step for step in agent.steps if not _is_open_question(step)}
            for agent in self.agents.values()
        }

    def reopen(self, agent: PastAgent, until: datetime) -> None:
        """The agent works again, with what it had recorded before this time."""
        if until >= self._until.get(agent.id, EVERYTHING) and agent.id in self._until:
            return
        self._until[agent.id] = until
        self.drop(agent, [step for step in self._steps[agent.id].values() if step.began_at >= until])
        parent = self.agents.get(agent.parent_id) if agent.parent_id else None
        if parent is not None:
            self.reopen(parent, agent.ended_at or EVERYTHING)
        for other in self.agents.values():
            if agent.id in other.depends_on:
                self.reopen(other, NOTHING)

    def drop(self, agent: PastAgent, steps: Iterable[PastStep]) -> None:
        """Forgets these steps and all below them. What depends on an agent that is forked no more is forked anew."""
        dropped = {step.path for step in steps}
        gone = set()
        for step in [step for step in agent.steps if any(step.path[: len(path)] == path for path in dropped)]:
            self._steps[agent.id].pop(step.id, None)
            gone |= {
                other.id for other in self.agents.values() if step.forked and is_within(other.lineage, step.forked)
            }
        for other in self.agents.values():
            parent = self.agents.get(other.parent_id) if other.parent_id else None
            fork = self._fork_of(other)
            if parent is not None and fork is not None and gone & set(other.depends_on):
                self.reopen(parent, fork.began_at)

    def kept(self) -> Kept:
        """Every agent whose fork still counts; the others, and what was cancelled with good reason, stay behind."""
        for agent in sorted(self.agents.values(), key=lambda agent: depth_of(agent.lineage)):
            if self._was_interrupted(agent):
                self.reopen(agent, EVERYTHING)
        for agent_id in list(self._until):
            self.drop(self.agents[agent_id], self._yes_to_nothing(self.agents[agent_id]))
        statuses = {agent.id: self._status(agent) for agent in self.agents.values() if self.counts(agent)}
        return Kept(statuses, frozenset(id_ for agent_id in statuses for id_ in self._steps[agent_id]))

    def _yes_to_nothing(self, agent: PastAgent) -> list[PastStep]:
        """Approvals of what is still to be done. A yes was for one call of the old run: nobody gave it for this one."""
        kept = list(self._steps[agent.id].values())
        return [
            step
            for step in kept
            if step.is_yes
            and not any(other is not step and comes_after(step.path, other.path) for other in kept)
            and not any(_carried_out(step, other) for other in agent.steps)
        ]

    def _status(self, agent: PastAgent) -> AgentStatus:
        if agent.id not in self._until:
            return agent.status
        begins = not self._steps[agent.id] and agent.depends_on
        return AgentStatus.PENDING if begins else AgentStatus.RUNNING

    def _fork_of(self, agent: PastAgent) -> PastStep | None:
        if agent.parent_id not in self.agents:
            return None
        steps = self._steps[agent.parent_id].values()
        return next((step for step in steps if step.forked == agent.lineage), None)

    def counts(self, agent: PastAgent) -> bool:
        """Whether the agent is the root, or forked by one that counts at a step that does."""
        if agent.parent_id is None:
            return True
        return self._fork_of(agent) is not None and self.counts(self.agents[agent.parent_id])

    def _was_interrupted(self, agent: PastAgent) -> bool:
        """Whether it ended only because the run did, while its parent was at work and had not run out of time."""
        if agent.status not in LIVE_AGENTS | {AgentStatus.CANCELLED} or not self.counts(agent):
            return False
        fork = self._fork_of(agent)
        if fork is None or agent.parent_id is None:
            return True
        if agent.parent_id not in self._until:
            return False
        steps = self._steps[agent.parent_id].values()
        return not any(
            step.kind is StepKind.NOTE and step.status is StepStatus.FAILED and is_below(fork.path, (*step.path, 0))
            for step in steps
        )


def _is_open_question(step: PastStep) -> bool:
    return step.kind is StepKind.ASK and step.status is StepStatus.STARTED


def _carried_out(yes: PastStep, step: PastStep) -> bool:
    """Whether this step is the effect that was approved, and it happened: the ledger has it, and nobody is asked."""
    is_next = step.path == (*yes.path[:-1], yes.path[-1] + 1)
    return is_next and step.is_effect and step.status is StepStatus.FINISHED
