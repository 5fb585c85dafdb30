"""Ends a loop that has used its tokens. Without a limit it stands by: prices and budgets of people are elsewhere."""

from dataclasses import dataclass
from typing import Final

from agents.loop_state import LoopState
from agents.middleware.base import Middleware
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import ModelReply

SPENT: Final = "This part of the work has used {used} tokens, and its budget is {limit}: no more tools were called."


@dataclass(frozen=True)
class Budget(Middleware):
    """`limit_tokens` counts prompts and answers of this loop's model calls. The last answer may go beyond it."""

    name = "budget"
    limit_tokens: int | None = None

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState:
        if self.limit_tokens is None or state.tokens_used < self.limit_tokens or not reply.tool_calls:
            return state
        return state.stop("budget", SPENT.format(used=state.tokens_used, limit=self.limit_tokens))
