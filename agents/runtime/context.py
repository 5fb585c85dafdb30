"""What an agent's code gets to work with: the engine's context, and the models behind it."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel

from agents.engine.canonical import Written, canonical, plain
from agents.engine.context import Outcome
from agents.engine.errors import OutsideError
from agents.engine.events import Body, Source, TokenReset, Usage, UsageReported
from agents.engine.records import AgentRecord, Announced, Cut, Loaded, Path, Record, StepRecord
from agents.engine.run import Program, Run
from agents.engine.states import StepKind
from agents.guardrails.output import Screened, Watch, screened
from agents.guardrails.settings import GuardSettings
from agents.guardrails.streaming import Anew
from agents.guardrails.telling import Line, tell_lines
from agents.runtime.attempts import Attempt
from agents.runtime.desk import Desk
from agents.runtime.outbox import Flagged, Outbox, Progressed
from agents.runtime.spending import Spending, Terms
from agents.runtime.streaming import STREAMED
from agents.runtime.tracing import RunTrace
from agents.runtime.treasury import Treasury
from hyperagent.lib.llm.errors import ModelBusy, ModelError, ModelUnavailable
from hyperagent.lib.llm.structured import REPAIRS
from hyperagent.lib.llm.types import ModelReply, ModelRequest, Restarted, TextDelta, ThinkingDelta, ToolSpec
from hyperagent.lib.text import GrowingText, clean_text, clean_value

if TYPE_CHECKING:
    # The web process reads what runs are and drives none: the gateway would bring it an HTTP client.
    from hyperagent.lib.llm.gateway import ModelGateway

ANSWER, THINKING = "answer", "thinking"
TOLD = "guarded"
"""Where a recorded reply has what guardrails found in it."""
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class About:
    """Whose run it is and where it belongs; the same for all of its agents and tools."""

    execution_id: UUID
    user_id: UUID | None = None
    conversation_id: UUID | None = None


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
        guards = GuardSettings.from_json(noted["guards"]) if "guards" in noted else GuardSettings()
        return cls(**{**noted, "guards": guards})


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a tool call gave, as its caller sees it. `content` is what a model reads; `data` is the value behind it."""

    content: str
    data: Any = None
    is_error: bool = False
    sources: tuple[Source, ...] = ()


class ToolDoor(Protocol):
    """The one door to the tools (`agents.tools.gateway`); each process has one."""

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """What a model is told of these tools. Raises KeyError for one that does not exist."""

    async def call(
        self, context: "AgentContext", name: str, arguments: Any, *, allowed: Sequence[str], call_id: str | None
    ) -> ToolReply:
        """Checks and performs one call. Never raises for what the tool or its arguments did wrong: is_error says it."""

    async def happened(self, context: "AgentContext", begun: StepRecord) -> bool | None:
        """Whether an effect of this agent that was begun has happened, as its tool's probe finds; None if none can
        tell. Nothing is done again."""

    def protected(self, names: Sequence[str]) -> Sequence[Any]:
        """Those of these tools (`agents.tools.tool.Tool`) that need a person's yes for each call."""

    def is_of_others(self, name: str) -> bool:
        """Whether what this tool gives may be text of others; so for one that is not there (any more)."""

    def lacks(self, names: Sequence[str]) -> str:
        """Which of these providers are not configured, in words for people with the way out; empty if all are."""

    def provider(self, name: str) -> Any:
        """What tools reach this part of the world by (`agents.tools.providers`); for tools that get no `Call`."""

    async def lacks_for(self, about: About, names: Sequence[str]) -> str:
        """The same for this user, who may lack what the installation has, such as a mailbox."""

    async def clear_up(self, run: "DrivenRun") -> None:
        """Takes away what the run's calls put somewhere for their time only; called before its end is stored, again
        after a crash. Takes a second or two at most, and raises nothing."""

    async def connected(self, context: "AgentContext") -> Mapping[str, Any]:
        """The tools (`agents.tools.tool.Tool`) of servers that people connected, as this agent has them, by name. A
        step: the agent keeps them to its end, on every replay."""

    async def connected_names(self, context: "AgentContext") -> Mapping[str, Sequence[str]]:
        """The names of such tools by agent, for the planner. A step."""


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
        desk: Desk | None = None,
    ) -> None:
        super().__init__(execution_id, journal=outbox, programs=programs, loaded=loaded)
        self.outbox = outbox
        self.models = models
        self.about = about or About(execution_id)
        self.tools = tools
        self.settings = settings or PipelineSettings()
        self.desk = desk
        self.terms: Terms | None = None
        self.treasury: Treasury | None = None
        """What holds the budgets of people, groups and the installation; None in tests without a database."""
        self.is_money_held = False
        """Whether one of those is in money, as far as a call has found."""
        self.may_ask = False
        """Whether a person may be asked at their end."""
        self.connected_names: Mapping[str, Sequence[str]] | None = None
        """Of tools of connected servers, by agent, where the run has asked: whoever has none need not ask again."""
        self.broken_off = ""
        self.interrupt: Callable[[], None] = lambda: None
        self.claimed: Callable[[], Awaitable[object]] = _at_once
        """Waits until its lease is there to stay: the run begins before."""
        self.under_suspicion = False
        self.trace = RunTrace()
        self.paid: list[dict[str, Any]] = []
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
        return self.treasury is not None and self.treasury.is_on

    def break_off(self, why: str) -> None:
        """A person ended the run from within it: whatever still runs of it is interrupted."""
        self.broken_off = why
        self.interrupt()

    def record(self, *records: Record) -> None:
        self.unread += [record for record in records if isinstance(record, StepRecord)]
        self.trace.recorded(records, self.loaded.steps)
        if self.treasury is not None and self.treasury.is_on and any(map(_is_paid_tool, records)):
            self.treasury.count_late(self.about.user_id)
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
            self.streamed[agent_id].clear()
        for channel in channels:
            keep = self._recorded_length[agent_id, channel]
            if self.loaded.shown.get((agent_id, channel), 0) != keep:
                self.loaded.shown[agent_id, channel] = keep
                self.outbox.write(Announced(agent_id, TokenReset(keep=keep, reason=reason, channel=channel)))

    def forget_recorded(self, agent_id: UUID, channel: str) -> int:
        """How much text of this agent was to stay until now; from now on none of it is."""
        if channel == ANSWER:
            self._said[agent_id].clear()
        return self._recorded_length.pop((agent_id, channel), 0)

    def announce_once(self, agent_id: UUID, body: Body, origin: str) -> None:
        if isinstance(body, TokenReset) and origin not in self.loaded.origins:
            self.loaded.shown[agent_id, body.channel] = body.keep
            self.streamed[agent_id].clear()
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


class AgentContext(Spending):
    """One agent's view of the world. Everything that it does outside of its own code goes through here."""

    run: DrivenRun
    task_input: Any = None
    """The `AgentInput` of the agent at work, for the tools that it calls; None in the pipeline's own code."""
    call_id: str | None = None
    """The tool call that was made last with this context, as people see it."""
    called_by: str | None = None
    """The call of a script, where it is one that calls with this context and those below it."""

    connected: Mapping[str, Any] = MappingProxyType({})
    """The tools of connected servers that this agent has, by name (`ToolDoor.connected`)."""

    def __init__(self, run: DrivenRun, agent: AgentRecord, *, scope: Path = (), branches: Path = ()) -> None:
        super().__init__(run, agent, scope=scope, branches=branches)
        self.attempts: list[Attempt] = []
        """What became of the agent's calls at the gateway; one list for all its branches."""

    @property
    def position(self) -> Path:
        """Where in the agent's journal the next call stands."""
        return (*self._scope, self._calls)

    def _branch(self, path: Path, number: int) -> Self:
        branch = super()._branch(path, number)
        branch.task_input = self.task_input
        branch.connected = self.connected
        branch.attempts = self.attempts
        branch.called_by = self.called_by
        return branch

    async def model(self, request: ModelRequest, *, stage: str, shown: bool = True, last: bool = False) -> ModelReply:
        """Asks a model. People see the answer grow if its stage streams (`agents.runtime.streaming`) and it is `shown`:
        only the agent that speaks for the run is.

        `last`: it answers from what there is, and so may be asked beyond the end of the run's budget, briefly. Raises
        StepFailed with the provider's trouble in words for people, or if the budget is used up (`agents.budget`).
        """
        shown = shown and stage in STREAMED
        asked = written(request)
        await self.afford(stage, asked, request, last=last)

        async def perform() -> Outcome:
            self.refuse(last=last)
            if shown:
                self.run.take_back(self.agent.id, "the answer began again")
            with self.run.trace.agent(self.agent.id).within():
                reply, lines = await self._stream(self.last_of(request), shown=shown)
            told = {TOLD: [line.as_json() for line in lines]} if lines else {}
            return Outcome({**reply.model_dump(mode="json"), **told}, self.settled(usage_of(reply)))

        value = await self.paid_step(stage, asked, perform)
        reply = ModelReply.model_validate({name: given for name, given in value.items() if name != TOLD})
        if shown:
            self.run.show_recorded(self.agent.id, reply.text, reply.thinking or "")
        tell_lines(self, [Line.from_json(line) for line in value.get(TOLD, ())])
        self.report(usage_of(reply))
        return reply

    def flag(self, body: Body, row: Flagged) -> None:
        """Shows people what a guardrail found, and keeps a row of it for those who look after the guardrails."""
        self._life.check()
        self.run.flag_once(self.agent.id, body, self.place, row)
        self._emitted += 1

    def withdraw(self, reason: str) -> None:
        """What this agent said so far is not the answer after all. Made once, like all that is emitted: on a replay
        people may see by now what came after it, and that must stay."""
        for channel in (ANSWER, THINKING):
            if self.run.forget_recorded(self.agent.id, channel):
                self.emit(TokenReset(keep=0, reason=reason, channel=channel))

    async def say(self, text: str) -> str:
        """`text` is all that this agent says: people see it, whatever of it a model has streamed. Gives it as they do:
        without what guardrails take away.

        Shown in a step of its own, so that a replay does not show it again.
        """
        text = clean_text(text)
        if not text.startswith(self.run.said_by(self.agent.id)) and self.run.forget_recorded(self.agent.id, ANSWER):
            self.emit(TokenReset(keep=0, reason="the answer is another one", channel=ANSWER))
        rest = text.removeprefix(self.run.said_by(self.agent.id))
        if not rest:
            return text

        async def perform() -> Outcome:
            self.run.take_back(self.agent.id, "the answer began again")
            found = screened(self.run, rest)
            self.run.show(self.agent.id, ANSWER, found.text)
            return Outcome(found.as_json() if found.lines else None)

        noted = await self.step(StepKind.NOTE, "said", {"text": rest}, perform)
        said = Screened(rest) if noted is None else Screened.from_json(noted)
        self.run.show_recorded(self.agent.id, said.text)
        tell_lines(self, said.lines)
        return self.run.said_by(self.agent.id)

    async def structured(self, request: ModelRequest, schema: type[T], *, stage: str) -> T:
        """A model's answer as a value of `schema`: one step, the repairs included. Raises StepFailed."""
        asked = Written.of({"request": request.model_dump(mode="json"), "schema": schema.__name__})
        await self.afford(stage, asked, request, calls=1 + REPAIRS)

        async def perform() -> Outcome:
            self.refuse()
            try:
                with self.run.trace.agent(self.agent.id).within():
                    found = await self.run.models.structured(self.last_of(request), schema)
            except ModelError as error:
                again = isinstance(error, ModelBusy | ModelUnavailable)
                raise OutsideError(error.code, error.user_message, retryable=again) from error
            try:
                value = plain(clean_value(found.value.model_dump(mode="json")))
            except (ValueError, RecursionError) as error:
                raise OutsideError("model_garbled", f"The answer cannot be stored: {error}.") from error
            used = self.settled(usage_of(*found.replies))
            return Outcome({"value": value, "usage": used}, used)

        recorded = await self.paid_step(stage, asked, perform)
        self.report(recorded["usage"])
        return schema.model_validate(recorded["value"])

    async def tool(
        self, name: str, arguments: Any, *, allowed: Sequence[str] | None = None, call_id: str | None = None
    ) -> ToolReply:
        """Calls a tool through the gateway. `arguments`: a mapping, or JSON text as a model wrote it.

        `allowed`: the names that this agent may call; without, the call is the agent's own code's.
        """
        if self.run.tools is None:
            return ToolReply("Error: this process has no tools.", is_error=True)
        return await self.run.tools.call(
            self, name, arguments, allowed=(name,) if allowed is None else allowed, call_id=call_id
        )

    def report(self, used: dict[str, Any]) -> None:
        """Tells people what a model took. `used`: as a step records it."""
        cost = used["cost_usd"]
        usage = Usage(
            prompt_tokens=used["prompt_tokens"],
            completion_tokens=used["completion_tokens"],
            cost_usd=None if cost is None else float(cost),
        )
        self.emit(UsageReported(model=used["model"], provider=used["provider"], usage=usage))
        self.say_if_unpriced(used["model"], cost)

    async def _stream(self, request: ModelRequest, *, shown: bool) -> tuple[ModelReply, tuple[Line, ...]]:
        """The reply as it is kept, and what guardrails found in it. What nobody watches is not looked at here."""
        watch = Watch(self.run) if shown else None
        try:
            async with aclosing(self.run.models.stream(request)) as deltas:
                async for delta in deltas:
                    if type(delta) is TextDelta:
                        if watch is not None:
                            self._show(ANSWER, watch.feed(ANSWER, delta.text))
                    elif type(delta) is ThinkingDelta:
                        if watch is not None:
                            self._show(THINKING, watch.feed(THINKING, delta.text))
                    elif type(delta) is Restarted:
                        self.run.take_back(self.agent.id, delta.reason)
                        if watch is not None:
                            watch.begin_again()
                    elif type(delta) is ModelReply:
                        reply = _cleaned(delta)
                        return (reply, ()) if watch is None else (self._screened(reply, watch), watch.lines)
        except ModelError as error:
            again = isinstance(error, ModelBusy | ModelUnavailable)
            raise OutsideError(error.code, error.user_message, retryable=again) from error
        raise OutsideError("model_garbled", "The model's stream ended without a reply. Try again.", retryable=True)

    def _show(self, channel: str, given: str | Anew) -> None:
        if isinstance(given, Anew):
            self.run.take_back(self.agent.id, "a guardrail took something out", channels=(channel,))
            self.run.show(self.agent.id, channel, given.text)
        elif given:
            self.run.show(self.agent.id, channel, given)

    def _screened(self, reply: ModelReply, watch: Watch) -> ModelReply:
        """The reply as people see it; what was held back of it is shown now."""
        thinking, rest = watch.finish(THINKING, reply.thinking)
        self._show(THINKING, rest)
        text, rest = watch.finish(ANSWER, reply.text)
        self._show(ANSWER, rest)
        # A provider takes its thoughts back only as they were: changed ones go without their seal.
        seal = reply.thinking_signature if thinking == reply.thinking else None
        return reply.model_copy(update={"text": text or "", "thinking": thinking, "thinking_signature": seal})


async def _at_once() -> None:
    pass


def written(request: ModelRequest) -> Written:
    """A request in its canonical form. Its tools, which are most of it, are the same in many: each is written once,
    and held once."""
    told = canonical(request.model_dump(mode="json", exclude={"tools"})).encode("utf-8", "surrogatepass")
    tools = [part for tool in request.tools for part in (b",", tool.canonical)]
    # "tools" is the last of its names.
    return Written.in_form(told[:-1], b',"tools":[', *tools[1:], b"]}")


def _is_paid_tool(record: Record) -> bool:
    return isinstance(record, StepRecord) and record.kind is not StepKind.MODEL and bool(record.usage)


def usage_of(*replies: ModelReply) -> dict[str, Any]:
    """What is recorded of a step's use; the price as decimal text, None if that of one reply is unknown."""
    costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
    return {
        "model": replies[-1].model,
        "provider": replies[-1].provider,
        "prompt_tokens": sum(reply.usage.prompt_tokens for reply in replies),
        "completion_tokens": sum(reply.usage.completion_tokens for reply in replies),
        "cost_usd": str(sum(costs)) if len(costs) == len(replies) else None,
    }


def _cleaned(reply: ModelReply) -> ModelReply:
    thinking = None if reply.thinking is None else clean_text(reply.thinking)
    return reply.model_copy(update={"text": clean_text(reply.text), "thinking": thinking})
