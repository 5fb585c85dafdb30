"""A run while a runner drives it: what it reaches the outside by, what people see of it, what it took."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from agents.engine.events import Body, TokenReset, Usage
from agents.engine.records import AgentRecord, Announced, Cut, Loaded, Record, StepRecord
from agents.engine.run import Program, Run
from agents.engine.states import AgentStatus, StepKind
from agents.guardrails.settings import GuardSettings
from agents.runtime.lookups import Lookups
from agents.runtime.outbox import Flagged, Outbox, Progressed
from agents.runtime.reserves import Reserves
from agents.runtime.shared_budgets import SharedBudgets
from agents.runtime.spending import Terms
from agents.runtime.tool_door import ConnectedTool, ToolDoor
from agents.runtime.tracing import RunTrace
from agents.runtime.underway import CallUnderway
from agents.tuning.values import UNTUNED, Tuning
from hitl.deadlines import Deadlines
from hyperagent.lib.text import GrowingText, clean_text

if TYPE_CHECKING:
    # The web process reads what runs are and drives none: the gateway would bring it an HTTP client.
    from hyperagent.lib.llm.gateway import ModelGateway

ANSWER, THINKING = "answer", "thinking"


@dataclass(frozen=True, slots=True)
class About:
    """Whose run it is and where it belongs; the same for all of its agents and tools."""

    execution_id: UUID
    user_id: UUID | None = None
    conversation_id: UUID | None = None
    trace_id: str = ""
    """Of the trace that the run goes on in (`agents.runtime.tracing.trace_id_of`), whether or not anybody collects it;
    empty where there is no run."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """What an installation chose for its pipeline; a program notes what it decides by."""

    routing_mode: str = "auto"
    max_handoffs: int = 3
    max_replans: int = 2
    plan_asks_above_usd: float = 0
    """A plan that is reckoned to cost more is shown before it runs; 0: none for what it costs."""
    compression_enabled: bool = True
    compression_tokens: int = 60_000
    compression_keeps: int = 10
    approval_timeout_s: int | None = None
    """After how long a request for an approval ends undecided; None: never by itself."""
    guards: GuardSettings = field(default_factory=GuardSettings)

    def as_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "guards": self.guards.as_json()}

    @classmethod
    def from_json(cls, noted: Mapping[str, Any]) -> Self:
        """Of what a newer version noted, as much as this one knows."""
        known = {name: noted[name] for name in cls.__slots__ if name in noted}
        guards = GuardSettings.from_json(noted["guards"]) if "guards" in noted else GuardSettings()
        return cls(**{**known, "guards": guards})


class DrivenRun(Run):
    """A run with what its agents reach the outside by, and how much of each agent's text people see."""

    def __init__(
        self,
        execution_id: UUID,
        *,
        outbox: Outbox,
        models: "ModelGateway",
        programs: Mapping[str, Program],
        loaded: Loaded | None,
        about: About | None = None,
        tools: ToolDoor | None = None,
        settings: PipelineSettings | None = None,
        lookups: Lookups | None = None,
    ) -> None:
        super().__init__(execution_id, journal=outbox, programs=programs, loaded=loaded)
        self.outbox = outbox
        self.models = models
        self.about = about or About(execution_id)
        self.tools = tools
        self.settings = settings or PipelineSettings()
        self.lookups = lookups
        self.terms: Terms | None = None
        self.reserves = Reserves()
        self.shared_budgets: SharedBudgets | None = None
        """What holds the budgets of people, groups and the installation; None in tests without a database."""
        self.is_money_held = False
        """Whether one of those is in money, as far as a call has found."""
        self.may_ask = False
        """Whether a person may be asked at their end."""
        self.connected_tools: Mapping[str, Sequence[ConnectedTool]] | None = None
        """Those of connected servers, by agent, where the run has asked: whoever has none need not ask again."""
        self.deadlines: Deadlines | None = None
        """Of its questions to people; None in tests without a database."""
        self.broken_off = ""
        self.interrupt: Callable[[], None] = lambda: None
        self.claimed: Callable[[], Awaitable[object]] = _at_once
        """Waits until its lease is there to stay: the run begins before."""
        self.under_suspicion = False
        self.trace = RunTrace()
        self.paid: list[dict[str, Any]] = []
        self.calls: dict[str, CallUnderway] = {}
        """Those of models that are on their way."""
        self.tunings: Mapping[str, Tuning] = MappingProxyType({})
        """What administrators had chosen for agents when it began, by their names."""
        self.turn: Mapping[str, Any] = MappingProxyType({})
        """What the run was begun with: question, history, where the texts of others in it come from."""
        self.reading: Any = None
        """What it has read of others (`agents.tools.taint`), as far as its steps were looked at; `unread`: the rest."""
        self.unread: list[StepRecord] = [step for steps in self.loaded.steps.values() for step in steps.values()]
        self.was_asked: set[str] = set()
        """The hashes of the calls that people were asked about."""
        self.streamed: defaultdict[UUID, GrowingText] = defaultdict(GrowingText)
        self._recorded_length: defaultdict[tuple[UUID, str], int] = defaultdict(int)
        self._said: defaultdict[UUID, GrowingText] = defaultdict(GrowingText)

    @property
    def is_held(self) -> bool:
        """Whether there may be a budget that it shares with others."""
        return self.shared_budgets is not None and self.shared_budgets.is_on

    def tuning_of(self, agent: str) -> Tuning:
        return self.tunings.get(agent, UNTUNED)

    def break_off(self, why: str) -> None:
        """A person ended the run from within it: whatever still runs of it is interrupted."""
        self.broken_off = why
        self.interrupt()

    def answered_within_s(self, kind: str) -> int | None:
        timeout_s = None if self.deadlines is None else self.deadlines.timeout_s(kind)
        return None if timeout_s is None else int(timeout_s)

    def record(self, *records: Record) -> None:
        self.unread += [record for record in records if isinstance(record, StepRecord)]
        self.trace.recorded(records, self.loaded.steps)
        if self.shared_budgets is not None and self.shared_budgets.is_on and any(map(_is_paid_tool, records)):
            self.shared_budgets.count_late(self.about.user_id)
        if self.under_suspicion and any(isinstance(record, StepRecord) for record in records):
            self.under_suspicion = False
            super().record(*records)
            self.outbox.write(Progressed())
        else:
            super().record(*records)

    def forgot(self, cut: Cut, fallen: Sequence[StepRecord]) -> None:
        self.paid.extend(step.usage for step in fallen if step.usage)
        if cut.path == (0,):
            for channel in (ANSWER, THINKING):
                self.forget_recorded(cut.agent_id, channel)
            self.take_back(cut.agent_id, "the agent begins anew")

    def ending(
        self, agents: Sequence[AgentRecord], status: AgentStatus, *, why: str = "", asks: Iterable[StepRecord] = ()
    ) -> list[Record]:
        """With what people saw of their text: it is no part of an answer any more."""
        return [*self._silenced(agents), *super().ending(agents, status, why=why, asks=asks)]

    def show_recorded(self, agent_id: UUID, text: str, thinking: str = "") -> None:
        """What was streamed is in the journal: it stays, whatever comes after."""
        self._recorded_length[agent_id, ANSWER] += len(text)
        self._recorded_length[agent_id, THINKING] += len(thinking)
        self._said[agent_id].append(text)

    def said_by(self, agent_id: UUID) -> str:
        """What this agent has said for good until now: the same on every replay."""
        return str(self._said[agent_id])

    def has_said(self, text: str) -> bool:
        """Whether this is what some agent has said for good, word for word."""
        return any(str(said) == text for said in self._said.values())

    def take_back(self, agent_id: UUID, reason: str, *, channels: Sequence[str] = (ANSWER, THINKING)) -> None:
        """Whatever people see of a reply that is not in the journal is no longer true."""
        if ANSWER in channels:
            self._stream_anew(agent_id)
        for channel in channels:
            keep = self._recorded_length[agent_id, channel]
            if self.loaded.shown.get((agent_id, channel), 0) != keep:
                self.loaded.shown[agent_id, channel] = keep
                self.outbox.write(Announced(agent_id, TokenReset(keep=keep, reason=reason, channel=channel)))

    def _silenced(self, agents: Iterable[AgentRecord]) -> Iterator[Announced]:
        for agent in agents:
            for channel in (ANSWER, THINKING):
                self.forget_recorded(agent.id, channel)
                if self.loaded.shown.pop((agent.id, channel), 0):
                    reset = TokenReset(keep=0, reason="the agent was stopped", channel=channel)
                    yield Announced(agent.id, reset)
            self._stream_anew(agent.id)

    def _stream_anew(self, agent_id: UUID) -> None:
        """What comes now is seen behind what this agent has said for good."""
        self.streamed[agent_id].clear()
        self.streamed[agent_id].append(self.said_by(agent_id))

    def forget_recorded(self, agent_id: UUID, channel: str, *, keep: str = "") -> int:
        """How much text of this agent was to stay until now; from now on only its beginning is, `keep`."""
        if channel == ANSWER:
            self._said[agent_id].clear()
            self._said[agent_id].append(keep)
        before = self._recorded_length[agent_id, channel]
        self._recorded_length[agent_id, channel] = len(keep)
        return before

    def announce_once(self, agent_id: UUID, body: Body, origin: str) -> None:
        if isinstance(body, TokenReset) and origin not in self.loaded.origins:
            self.loaded.shown[agent_id, body.channel] = body.keep
            self._stream_anew(agent_id)
        super().announce_once(agent_id, body, origin)

    def flag_once(self, agent_id: UUID, body: Body, origin: str, row: Flagged) -> None:
        """An event and the row beside it: both are stored, or neither."""
        if origin not in self.loaded.origins:
            self.loaded.origins.add(origin)
            self.outbox.write(Announced(agent_id, body, origin), row)

    def show(self, agent_id: UUID, channel: str, text: str) -> None:
        text = clean_text(text)
        key = (agent_id, channel)
        self.loaded.shown[key] = self.loaded.shown.get(key, 0) + len(text)
        if channel == ANSWER:
            self.streamed[agent_id].append(text)
        self.outbox.add_token(agent_id, channel, text)

    def count_noted(self, name: str, value: Any) -> int:
        """How many notes of this name and value are recorded, over all agents."""
        return sum(
            step.kind is StepKind.NOTE and step.name == name and step.response == value
            for steps in self.loaded.steps.values()
            for step in steps.values()
        )

    def used_by(self, agent_id: UUID) -> tuple[int, int]:
        """Tokens and model calls of one agent, as far as they count."""
        used = [step.usage for step in self.steps_of(agent_id).values() if step.usage]
        return sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in used), len(used)

    def provider_of(self, model: str | None) -> str | None:
        """Who served the calls of this model in this run, as far as they count."""
        used = [step.usage for steps in self.loaded.steps.values() for step in steps.values() if step.usage]
        return next((usage["provider"] for usage in reversed(used) if usage["model"] == model), None)

    def usage(self) -> Usage:
        """What all model calls took, cut ones too; the cost is unknown if one of them is."""
        used = self.paid + [step.usage for steps in self.loaded.steps.values() for step in steps.values() if step.usage]
        costs = [usage["cost_usd"] for usage in used]
        return Usage(
            prompt_tokens=sum(usage["prompt_tokens"] for usage in used),
            completion_tokens=sum(usage["completion_tokens"] for usage in used),
            cost_usd=None if None in costs else sum(map(float, costs)),
        )


async def _at_once() -> None:
    pass


def _is_paid_tool(record: Record) -> bool:
    return isinstance(record, StepRecord) and record.kind is not StepKind.MODEL and bool(record.usage)
