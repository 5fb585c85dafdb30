"""The plan in the model's sight: [Active Task Context] at the end of every request (S63).

The checklist is the pipeline's. A list that the model writes for itself is not kept: the plan is the list.
"""

from dataclasses import dataclass, replace
from typing import Final, Self

from agents.craft.exchange import AgentInput
from agents.craft.loop_state import LoopState
from agents.craft.middleware.base import Middleware
from agents.pipeline.todo import CONTEXT_CHARS, CONTEXT_HEAD
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec

CUT: Final = "\n[…]"


@dataclass(frozen=True)
class Todo(Middleware):
    name = "todo"
    todos: str = ""

    def init(self, task: AgentInput, spec: AgentSpec) -> Self:
        return replace(self, todos=capped(task.active_context))

    async def on_server_start(self, context: AgentContext, state: LoopState) -> LoopState:
        return replace(state, todos=self.todos)

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        return state.with_context(state.todos)


def capped(text: str) -> str:
    """The context under its heading, heading included at most 2,000 characters, cut at a line."""
    body = text.strip().removeprefix(CONTEXT_HEAD).strip()
    if not body:
        return ""
    whole = f"{CONTEXT_HEAD}\n{body}"
    if len(whole) <= CONTEXT_CHARS:
        return whole
    kept = whole[: CONTEXT_CHARS - len(CUT)]
    line_end = kept.rfind("\n", len(CONTEXT_HEAD) + 1)
    return f"{kept[:line_end] if line_end > 0 else kept}{CUT}"
