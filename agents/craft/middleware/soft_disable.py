"""Names the tools that cannot be used here. Their schemas stay, so that each request has the same prefix (S88)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agents.craft.loop_state import LoopState
from agents.craft.middleware.base import Middleware
from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.runtime.context import AgentContext
from agents.tools import registry

HEADING: Final = "[Tools that are not available]"
ADVICE: Final = (
    "Do not call them. Where the task needs one of them, do what can be done without it and say what is missing."
)


def needs_of(tool: str) -> tuple[str, ...]:
    """The providers behind a tool."""
    found = registry.tools().get(tool)
    return tuple(found.needs) if found else ()


@dataclass(frozen=True)
class SoftDisable(Middleware):
    name = "soft_disable"
    needs_of: Callable[[str], tuple[str, ...]] = needs_of

    async def on_server_start(self, context: AgentContext, state: LoopState) -> LoopState:
        door = context.run.tools
        if door is None or not state.tools:
            return state

        async def perform() -> Outcome:
            # Many tools need the same: each provider is asked once, for this stands before the first word of an answer.
            needed = {name: self.needs_of(name) for name in state.tools}
            lacking = {needs: await door.lacks_for(context.run.about, needs) for needs in set(needed.values()) if needs}
            return Outcome({name: lacking[needs] for name, needs in needed.items() if lacking.get(needs)})

        return state.noting(self.name, await context.step(StepKind.NOTE, self.name, None, perform))

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        lacking = state.metadata.get(self.name)
        if not lacking or state.stopped:
            return state
        lines = [f"- {name}: {why}" for name, why in lacking.items()]
        return state.with_context("\n".join([HEADING, *lines, ADVICE]))
