"""Notices when a model goes round in circles: the same calls again and again, or nothing but errors (S83, S84)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agents.craft.loop_state import MANY_ERRORS, LoopState
from agents.craft.middleware.base import Middleware
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import ModelReply, ToolCall

# In this order they come to a model that makes one call again and again, which fails each time.
VARY_AT: Final = 3
REPETITION_AT: Final = 6
REVISE_AT: Final = MANY_ERRORS
# So many more may fail once the model was told, for those of a single round may be more than all of these.
ERRORS_AFTER: Final = 3

VARIATION = (
    "You have made exactly the same tool calls {repeats} times in a row, and their results will not change. "
    "Do something else: other arguments, another tool, a smaller step, or answer with what you have."
)
PLAN_REVISION = (
    "Your last {errors} tool calls have all failed. Change your plan: say to yourself why they failed, "
    "and reach the goal by another way, with other tools or without any. Do not repeat what has failed."
)
LAST_REVISION = (
    "Your last {errors} tool calls have all failed. Change your plan: reach the goal without tools as far as that "
    "goes, and say plainly what has failed and what is missing for that."
)
REPEATED = "The model made the same tool calls {repeats} times in a row and was stopped."
FAILED = "{errors} tool calls in a row have failed, so no more were made."


@dataclass(frozen=True)
class LoopGuard(Middleware):
    """Notes at how many errors in a row the model was told of them; 0 where it was not."""

    name = "loop_guard"

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        """Repetition is looked at first; then the errors. The last request, in which no tool can be called, has them
        too."""
        if state.stopped:
            return self._revised(state)
        if self._told_at(state) and state.errors_in_a_row >= self._told_at(state) + ERRORS_AFTER:
            return state.stop("errors", FAILED.format(errors=state.errors_in_a_row))
        if state.repeats >= VARY_AT:
            state = state.told(VARIATION.format(repeats=state.repeats))
        return self._revised(state)

    def _told_at(self, state: LoopState) -> int:
        return int(state.metadata.get(self.name, 0))

    def _revised(self, state: LoopState) -> LoopState:
        """Told once of the errors of a row; a call that succeeds begins another."""
        errors = state.errors_in_a_row
        if errors < REVISE_AT:
            return state.noting(self.name, 0) if self._told_at(state) else state
        if self._told_at(state):
            return state
        told = LAST_REVISION.format(errors=errors) if state.stopped else PLAN_REVISION.format(errors=errors)
        return state.told(told).noting(self.name, errors)

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState:
        if not reply.tool_calls:
            return replace(state, last_tool_calls_hash="", repeats=0)
        hashed = hash_of(reply.tool_calls)
        repeats = state.repeats + 1 if hashed == state.last_tool_calls_hash else 1
        state = replace(state, last_tool_calls_hash=hashed, repeats=repeats)
        if repeats >= REPETITION_AT:
            return state.stop("repetition", REPEATED.format(repeats=repeats))
        return state


def hash_of(calls: Sequence[ToolCall]) -> str:
    """MD5 of names and arguments, whatever the order of the keys and of the calls."""
    batch = sorted(f"{call.name} {_sorted_arguments(call.arguments)}" for call in calls)
    return hashlib.md5("\n".join(batch).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _sorted_arguments(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
