"""What a middleware is. It changes the state of a loop before and after each model call, and owns nothing itself."""

from dataclasses import dataclass
from typing import Any, Self

from agents.craft.exchange import AgentInput
from agents.craft.loop_state import LoopState
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import ModelReply


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A person has to say something before the loop goes on.

    `question` is what `context.ask` takes for this `kind`; `state` is what the loop goes on with.
    """

    kind: str
    question: dict[str, Any]
    state: LoopState


class Middleware:
    """Base of all. Instances are immutable; what changes is in the state, and what is outside goes through the context.

    The hooks of a stack are called in its order before the model and in the reverse order after it, so that the first
    stands around all others. Every hook is called again on a replay, like the rest of the program.
    """

    name = "middleware"

    def init(self, task: AgentInput, spec: AgentSpec) -> Self:
        """The middleware as it is needed for this task."""
        return self

    def system_prompt(self) -> str:
        """What it adds to the system prompt: the same for the whole loop."""
        return ""

    def tools(self) -> tuple[str, ...]:
        """The names of tools that it adds to those of the agent."""
        return ()

    async def on_server_start(self, context: AgentContext, state: LoopState) -> LoopState:
        """Once, before the first model call: the place for what has to be noted or looked up."""
        return state

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState | Interrupt:
        return state

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState | Interrupt:
        """`reply` is the last of the state's messages by now; its tool calls have not been performed."""
        return state

    def handle_message(self, answer: Any, state: LoopState) -> LoopState:
        """What the person answered to this middleware's interrupt: the recorded answer of `context.ask`."""
        return state
