"""Notices when a model goes round in circles: the same calls again and again, or nothing but errors (S83, S84)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agents.loop_state import LoopState
from agents.middleware.base import Middleware
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import ModelReply, ToolCall

VARY_AT: Final = 3
REPETITION_AT: Final = 6
REVISE_AT: Final = 5
ERRORS_AT: Final = 8

VARIATION = (
    "You have made exactly the same tool calls {repeats} times in a row, and their results will not change. "
    "Do something else: other arguments, another tool, a smaller step, or answer with what you have."
)
PLAN_REVISION = (
    "All tool calls of your last {errors} steps have failed. Change your plan: say to yourself why they failed, "
    "and reach the goal by another way, with other tools or without any. Do not repeat what has failed."
)
REPEATED = "The model made the same tool calls {repeats} times in a row and was stopped."
FAILED = "The tool calls of {errors} steps in a row have failed, so no more were made."


@dataclass(frozen=True)
class LoopGuard(Middleware):
    name = "loop_guard"

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        """Repetition is looked at first; then the errors."""
        if state.stopped:
            return state
        if state.errors_in_a_row >= ERRORS_AT:
            return state.stop("errors", FAILED.format(errors=state.errors_in_a_row))
        if state.repeats >= VARY_AT:
            state = state.told(VARIATION.format(repeats=state.repeats))
        if state.errors_in_a_row == REVISE_AT:
            state = state.told(PLAN_REVISION.format(errors=REVISE_AT))
        return state

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
