"""Repairs the conversation where calls and results do not fit together: providers refuse to read such a one (S74)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agents.craft.loop_state import LoopState, tool_message
from agents.craft.middleware.base import Middleware
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Message, Role

INTERRUPTED: Final = "Error: this call was interrupted before it gave a result. Call the tool again if it is needed."


@dataclass(frozen=True)
class PatchToolCalls(Middleware):
    name = "patch_tool_calls"

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        return mended(state)


def mended(state: LoopState, content: str = INTERRUPTED) -> LoopState:
    """The state with all calls answered in what is sent; what is summarised stays as it was counted."""
    told, visible = state.messages[: state.summarised], state.messages[state.summarised :]
    return replace(state, messages=(*told, *patched(visible, content)))


def patched(messages: Sequence[Message], content: str = INTERRUPTED) -> tuple[Message, ...]:
    """Every call has its result behind it, in the order of the calls; results without a call are gone.

    Results belong to the message right before them. Their ids alone do not tell: some servers count from 0 each time.
    """
    return tuple(_patched(messages, content))


def _patched(messages: Sequence[Message], content: str) -> Iterator[Message]:
    number = 0
    while number < len(messages):
        message = messages[number]
        number += 1
        if message.role is Role.TOOL:
            continue
        yield message
        results = []
        while number < len(messages) and messages[number].role is Role.TOOL:
            results.append(messages[number])
            number += 1
        for call in message.tool_calls:
            found = next((result for result in results if result.tool_call_id == call.id), None)
            if found is not None:
                results.remove(found)
            yield found or tool_message(call, content)
