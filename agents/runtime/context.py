"""What an agent's code gets to work with: the engine's context, and the models behind it."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from uuid import UUID

from agents.engine.context import Context, Outcome
from agents.engine.errors import OutsideError
from agents.engine.events import Body, TokenReset, Usage, UsageReported
from agents.engine.journal import falls_to
from agents.engine.records import Announced, Cut, Loaded, Record, StepRecord
from agents.engine.run import Program, Run
from agents.engine.states import StepKind
from agents.runtime.outbox import Outbox, Progressed
from agents.runtime.streaming import STREAMED
from hyperagent.lib.llm.errors import ModelBusy, ModelError, ModelUnavailable
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.types import ModelReply, ModelRequest, Restarted, TextDelta, ThinkingDelta
from hyperagent.lib.text import GrowingText, clean_text

ANSWER, THINKING = "answer", "thinking"


class DrivenRun(Run):
    """A run with what its agents reach the outside by, and how much of each agent's text people see."""

    def __init__(
        self,
        execution_id: UUID,
        *,
        outbox: Outbox,
        models: ModelGateway,
        programs: Mapping[str, Program],
        loaded: Loaded | None,
    ) -> None:
        super().__init__(execution_id, journal=outbox, programs=programs, loaded=loaded)
        self.outbox = outbox
        self.models = models
        self.under_suspicion = False
        self.paid: list[dict[str, Any]] = []
        self.streamed: defaultdict[UUID, GrowingText] = defaultdict(GrowingText)
        self._recorded_length: defaultdict[tuple[UUID, str], int] = defaultdict(int)

    def record(self, *records: Record) -> None:
        if self.under_suspicion and any(isinstance(record, StepRecord) for record in records):
            self.under_suspicion = False
            super().record(*records)
            self.outbox.write(Progressed())
        else:
            super().record(*records)

    def cut(self, cut: Cut, because: Body) -> None:
        before = self.steps_of(cut.agent_id).values()
        self.paid.extend(step.usage for step in before if step.usage and falls_to(cut.path, step.path))
        super().cut(cut, because)

    def show_recorded(self, agent_id: UUID, reply: ModelReply) -> None:
        """A streamed reply is in the journal: its text stays, whatever comes after."""
        self._recorded_length[agent_id, ANSWER] += len(reply.text)
        self._recorded_length[agent_id, THINKING] += len(reply.thinking or "")

    def take_back(self, agent_id: UUID, reason: str) -> None:
        """Whatever people see of a reply that is not in the journal is no longer true."""
        self.streamed[agent_id].clear()
        for channel in (ANSWER, THINKING):
            keep = self._recorded_length[agent_id, channel]
            if self.loaded.shown.get((agent_id, channel), 0) != keep:
                self.loaded.shown[agent_id, channel] = keep
                self.outbox.write(Announced(agent_id, TokenReset(keep=keep, reason=reason, channel=channel)))

    def show(self, agent_id: UUID, channel: str, text: str) -> None:
        text = clean_text(text)
        key = (agent_id, channel)
        self.loaded.shown[key] = self.loaded.shown.get(key, 0) + len(text)
        if channel == ANSWER:
            self.streamed[agent_id].append(text)
        self.outbox.add_token(agent_id, channel, text)

    def usage(self) -> Usage:
        """What all model calls took, cut ones too; the cost is unknown if one of them is."""
        used = self.paid + [step.usage for steps in self.loaded.steps.values() for step in steps.values() if step.usage]
        costs = [usage["cost_usd"] for usage in used]
        return Usage(
            prompt_tokens=sum(usage["prompt_tokens"] for usage in used),
            completion_tokens=sum(usage["completion_tokens"] for usage in used),
            cost_usd=None if None in costs else sum(map(float, costs)),
        )


class AgentContext(Context):
    """One agent's view of the world. Everything that it does outside of its own code goes through here."""

    run: DrivenRun

    async def model(self, request: ModelRequest, *, stage: str) -> ModelReply:
        """Asks a model. Whether people see the answer grow depends on the stage (`agents.runtime.streaming`).

        Raises StepFailed with the provider's trouble in words for people.
        """
        shown = stage in STREAMED

        async def perform() -> Outcome:
            if shown:
                self.run.take_back(self.agent.id, "the answer began again")
            reply = await self._stream(request, shown=shown)
            return Outcome(reply.model_dump(mode="json"), usage_of(reply))

        value = await self.step(StepKind.MODEL, stage, request.model_dump(mode="json"), perform)
        reply = ModelReply.model_validate(value)
        if shown:
            self.run.show_recorded(self.agent.id, reply)
        self.emit(
            UsageReported(
                model=reply.model,
                provider=reply.provider,
                usage=Usage(
                    prompt_tokens=reply.usage.prompt_tokens,
                    completion_tokens=reply.usage.completion_tokens,
                    cost_usd=None if reply.cost_usd is None else float(reply.cost_usd),
                ),
            )
        )
        return reply

    async def _stream(self, request: ModelRequest, *, shown: bool) -> ModelReply:
        agent_id = self.agent.id
        try:
            async with aclosing(self.run.models.stream(request)) as deltas:
                async for delta in deltas:
                    if type(delta) is TextDelta:
                        if shown:
                            self.run.show(agent_id, ANSWER, delta.text)
                    elif type(delta) is ThinkingDelta:
                        if shown:
                            self.run.show(agent_id, THINKING, delta.text)
                    elif type(delta) is Restarted:
                        self.run.take_back(agent_id, delta.reason)
                    elif type(delta) is ModelReply:
                        return _cleaned(delta)
        except ModelError as error:
            again = isinstance(error, ModelBusy | ModelUnavailable)
            raise OutsideError(error.code, error.user_message, retryable=again) from error
        raise OutsideError("model_garbled", "The model's stream ended without a reply. Try again.", retryable=True)


def usage_of(reply: ModelReply) -> dict[str, Any]:
    """What is recorded of a call's use; the price as decimal text, None if it is unknown."""
    return {
        "model": reply.model,
        "provider": reply.provider,
        "prompt_tokens": reply.usage.prompt_tokens,
        "completion_tokens": reply.usage.completion_tokens,
        "cost_usd": None if reply.cost_usd is None else str(reply.cost_usd),
    }


def _cleaned(reply: ModelReply) -> ModelReply:
    thinking = None if reply.thinking is None else clean_text(reply.thinking)
    return reply.model_copy(update={"text": clean_text(reply.text), "thinking": thinking})
