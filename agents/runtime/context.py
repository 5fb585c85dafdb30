"""What an agent's code gets to work with: the engine's context, and the models behind it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from agents.engine.calls import HEARD
from agents.engine.canonical import Written, canonical, digest, plain
from agents.engine.context import Outcome
from agents.engine.errors import OutsideError
from agents.engine.events import Body, Heard, Stage, StageStatus, TokenReset, Usage, UsageReported
from agents.engine.records import AgentRecord, Path
from agents.engine.states import StepKind
from agents.guardrails.output import Screened, Watch, screened
from agents.guardrails.reporting import FindingSummary, tell_lines
from agents.guardrails.streaming import Anew
from agents.runtime.attempts import Attempt
from agents.runtime.cut_short import with_its_end
from agents.runtime.driven import ANSWER, THINKING, DrivenRun
from agents.runtime.fitting import tries
from agents.runtime.outbox import Flagged
from agents.runtime.spending import Spending
from agents.runtime.streaming import STREAMED
from agents.runtime.tool_door import ToolReply
from agents.runtime.underway import usage_of
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.errors import ContextTooLong, ModelError
from hyperagent.lib.llm.structured import REPAIRS
from hyperagent.lib.llm.taken import Taken
from hyperagent.lib.llm.types import ModelReply, ModelRequest, Restarted, TextDelta, ThinkingDelta
from hyperagent.lib.text import clean_text, clean_value, title_from

TOLD = "guarded"
"""Where a recorded reply has what guardrails found in it."""
SAID_CHARS = 300
SAID = "said"
BELOW = "\n\n"
"""What stands between an answer that people have read and what comes below it."""
LIMIT = "limit"
SHORTENED = "This was more than the model can read at once: the longest texts were shortened for it."
R = TypeVar("R")
T = TypeVar("T", bound=BaseModel)


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

    async def model(
        self, request: ModelRequest, *, stage: str, shown: bool = True, last: bool = False, aside: bool = False
    ) -> ModelReply:
        """Asks a model. People see the answer grow if its stage streams (`agents.runtime.streaming`) and it is `shown`:
        only the agent that speaks for the run is.

        `last`: it answers from what there is, and so may be asked beyond the end of the run's budget, briefly. `aside`:
        nobody is asked to raise that budget for it. An answer that people see, and that had to end before it was whole,
        says so at its end. Raises StepFailed with the provider's trouble in words for people,
        or if a budget has no room for it (`agents.run_budget`).
        """
        shown = shown and stage in STREAMED
        asked = written(request)
        await self.afford(stage, asked, request, last=last, aside=aside)

        async def perform() -> Outcome:
            self.refuse()
            if shown:
                self.run.take_back(self.agent.id, "the answer began again")
            with self.run.trace.agent(self.agent.id).within(), self.counted(stage, asked) as taken:
                reply, lines = await self._stream(self.last_of(request), taken, shown=shown)
            told = {TOLD: [line.as_json() for line in lines]} if lines else {}
            return Outcome({**reply.model_dump(mode="json"), **told}, self.settled(usage_of(reply)))

        value = await self.paid_step(stage, asked, perform)
        reply = ModelReply.model_validate({name: given for name, given in value.items() if name != TOLD})
        if shown:
            self.run.show_recorded(self.agent.id, reply.text, reply.thinking or "")
        tell_lines(self, [FindingSummary.from_json(line) for line in value.get(TOLD, ())])
        self.report(usage_of(reply))
        return with_its_end(reply) if shown else reply

    async def heard(self) -> list[str]:
        """As the engine has it; and people see, once, what the run was told: a page that is loaded anew, too."""
        news = await super().heard()
        for text in news:
            told = f"You added: {title_from(one_line(text), limit=SAID_CHARS)}"
            where = Heard(text=text, at=len(self.run.said_by(self.agent.id)))
            said = Stage(name=HEARD, description=told, status=StageStatus.COMPLETED, heard=where)
            self.emit_for_run(said, f"{HEARD}:{digest(text).hex()}")
        return news

    def flag(self, body: Body, row: Flagged) -> None:
        """Shows people what a guardrail found, and keeps a row of it for those who look after the guardrails."""
        self._life.check()
        self.run.flag_once(self.agent.id, self._in_its_stage(body), self.place, row)
        self._emitted += 1

    def withdraw(self, reason: str, *, keep: str = "") -> None:
        """What this agent said so far is not the answer after all, but for its beginning, `keep`. Made once, like all
        that is emitted: on a replay people may see by now what came after it, and that must stay."""
        for channel, kept in ((ANSWER, keep), (THINKING, "")):
            if self.run.forget_recorded(self.agent.id, channel, keep=kept) > len(kept):
                self.emit(TokenReset(keep=len(kept), reason=reason, channel=channel))

    async def go_on_below(self) -> str | None:
        """What this agent has said stays, and what it says next comes below it. Gives all of it as people see it; None
        in a run that was recorded when an answer did not stay, which goes on as it began."""
        recorded = self.upcoming
        if recorded is not None and (recorded.kind, recorded.name) != (StepKind.NOTE, SAID):
            return None
        return await self.say(f"{self.run.said_by(self.agent.id)}{BELOW}")

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

        noted = await self.step(StepKind.NOTE, SAID, {"text": rest}, perform)
        said = Screened(rest) if noted is None else Screened.from_json(noted)
        self.run.show_recorded(self.agent.id, said.text)
        tell_lines(self, said.lines)
        return self.run.said_by(self.agent.id)

    async def structured(self, request: ModelRequest, schema: type[T], *, stage: str, aside: bool = False) -> T:
        """A model's answer as a value of `schema`: one step, the repairs included. Raises StepFailed."""
        asked = Written.of({"request": request.model_dump(mode="json"), "schema": schema.__name__})
        await self.afford(stage, asked, request, aside=aside, calls=1 + REPAIRS)

        async def perform() -> Outcome:
            self.refuse()
            with self.run.trace.agent(self.agent.id).within(), self.counted(stage, asked) as taken:
                found = await self._fitted(
                    self.last_of(request), lambda fitted: self.run.models.structured(fitted, schema, taken=taken)
                )
            used = self.settled(usage_of(*found.replies))
            try:
                value = plain(clean_value(found.value.model_dump(mode="json")))
            except (ValueError, RecursionError) as error:
                raise OutsideError("model_garbled", f"The answer cannot be stored: {error}.", usage=used) from error
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
            return ToolReply.failed("this process has no tools.")
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

    async def _stream(
        self, request: ModelRequest, taken: Taken, *, shown: bool
    ) -> tuple[ModelReply, tuple[FindingSummary, ...]]:
        """The reply as it is kept, and what guardrails found in it. What nobody watches is not looked at here."""
        watch = Watch(self.run) if shown else None
        reply = await self._fitted(request, lambda fitted: self._streamed(fitted, taken, watch))
        return (reply, ()) if watch is None else (self._screened(reply, watch), watch.lines)

    async def _streamed(self, request: ModelRequest, taken: Taken, watch: Watch | None) -> ModelReply:
        async with aclosing(self.run.models.stream(request, taken=taken)) as deltas:
            async for delta in deltas:
                if type(delta) is TextDelta and watch is not None:
                    self._show(ANSWER, watch.feed(ANSWER, delta.text))
                elif type(delta) is ThinkingDelta and watch is not None:
                    self._show(THINKING, watch.feed(THINKING, delta.text))
                elif type(delta) is Restarted:
                    self.run.take_back(self.agent.id, delta.reason)
                    if watch is not None:
                        watch.begin_again()
                elif type(delta) is ModelReply:
                    return _cleaned(delta)
        raise OutsideError("model_garbled", "The model's stream ended without a reply. Try again.", retryable=True)

    async def _fitted(self, request: ModelRequest, ask: Callable[[ModelRequest], Awaitable[R]]) -> R:
        """What comes of asking. A model that cannot read all of it is asked with less of the longest texts, and people
        are told; not where it was paid for what came before. Raises OutsideError with the provider's trouble."""
        for fitted in tries(request):
            try:
                answered = await ask(fitted)
            except ContextTooLong as error:
                refused: ModelError = error
                if error.paid:
                    break
            except ModelError as error:
                raise self.failed_call(error) from error
            else:
                if fitted is not request:
                    told = Stage(name=LIMIT, description=SHORTENED, status=StageStatus.FAILED)
                    self.emit_for_run(told, "shortened")
                return answered
        raise self.failed_call(refused) from refused

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


def written(request: ModelRequest) -> Written:
    """A request in its canonical form. Its tools, which are most of it, are the same in many: each is written once, and
    held once; stored are their names."""
    told = canonical(request.model_dump(mode="json", exclude={"tools"})).encode("utf-8", "surrogatepass")[:-1]
    tools = [part for tool in request.tools for part in (b",", tool.canonical)]
    names = canonical([tool.name for tool in request.tools]).encode("utf-8", "surrogatepass")
    # "tools" is the last of its names, and what was told is held once.
    whole = Written.in_form(told, b',"tools":[', *tools[1:], b"]}")
    return replace(whole, kept=(told, b',"tools":', names, b"}"))


def _cleaned(reply: ModelReply) -> ModelReply:
    thinking = None if reply.thinking is None else clean_text(reply.thinking)
    return reply.model_copy(update={"text": clean_text(reply.text), "thinking": thinking})
