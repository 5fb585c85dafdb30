"""Keeps a long conversation within what a model reads: older messages are told by a summary (S85-S87).

Messages are never changed or dropped: the state says up to which one the summary tells them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from agents.craft.exchange import AgentInput
from agents.craft.loop_state import LoopState, tokens_of, tokens_of_request
from agents.craft.middleware.base import Middleware
from agents.engine.errors import StepFailed
from agents.roles import summarizer
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Message, Role

LEFT_OUT: Final = "[{count} earlier messages were left out here for want of room.]"
_LEFT_OUT = re.compile(re.escape(LEFT_OUT).replace(r"\{count\}", r"\d+"))
# Where little would be won, a summary costs more than it saves, and the prefix changes for nothing.
WORTHWHILE: Final = 8


@dataclass(frozen=True)
class Compression(Middleware):
    name = "compression"
    provider: str | None = None

    def init(self, task: AgentInput, spec: AgentSpec) -> Self:
        return replace(self, provider=task.options.provider)

    async def on_server_start(self, context: AgentContext, state: LoopState) -> LoopState:
        settings = context.run.settings
        limits = await context.note(
            self.name,
            lambda: {
                "enabled": settings.compression_enabled,
                "tokens": settings.compression_tokens,
                "keeps": settings.compression_keeps,
            },
        )
        return state.noting(self.name, limits)

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        limits = state.metadata[self.name]
        if not limits["enabled"] or tokens_of_request(state) <= limits["tokens"]:
            return state
        end = recent_from(state.messages, keeps=limits["keeps"])
        old = state.messages[state.summarised : end]
        if not old or tokens_of(old) < limits["tokens"] // WORTHWHILE:
            return state
        try:
            reply = await summarizer.summarise(context, old, earlier=state.summary, provider=self.provider)
        except StepFailed:
            return replace(state, summary=truncated(state, end), summarised=end)
        return replace(state, summary=reply.text[: summarizer.LIMIT_CHARS], summarised=end)


def recent_from(messages: Sequence[Message], *, keeps: int) -> int:
    """Where the recent messages begin: at least `keeps` of them, and never between calls and their results."""
    start = max(0, len(messages) - max(1, keeps))
    while start > 0 and messages[start].role is Role.TOOL:
        start -= 1
    return start


def truncated(state: LoopState, end: int) -> str:
    """The summary where none could be made of the messages up to `end`: what it said before, and that they are gone."""
    before = _LEFT_OUT.sub("", state.summary).rstrip()
    return "\n\n".join(filter(None, [before, LEFT_OUT.format(count=end)]))
