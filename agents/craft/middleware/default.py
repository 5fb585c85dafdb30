"""The stack that an agent's loop has unless it brings its own."""

from agents.craft.exchange import AgentInput
from agents.craft.middleware.base import Middleware
from agents.craft.middleware.codeact import CodeAct
from agents.craft.middleware.compression import Compression
from agents.craft.middleware.dangling import PatchToolCalls
from agents.craft.middleware.loop_guard import LoopGuard
from agents.craft.middleware.soft_disable import SoftDisable
from agents.craft.middleware.todo import Todo
from agents.craft.middleware.workspace import WorkspaceFiles


def default_middleware(task: AgentInput) -> tuple[Middleware, ...]:
    """In the order of the hooks before a model call: calls are mended before they are counted and summarised.

    The small model gets what protects, and nothing more to read. People are asked at the gateway, and before a
    model is, not here.
    """
    if not task.capable:
        return (PatchToolCalls(), LoopGuard())
    return (Todo(), WorkspaceFiles(), CodeAct(), SoftDisable(), PatchToolCalls(), Compression(), LoopGuard())
