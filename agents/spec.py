"""What an agent says of itself: for the planner, for people, and for whoever runs it."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict

from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Tier

AgentProgram = Callable[[AgentContext, Any], Awaitable[Any]]


class AgentSpec(BaseModel):
    """An agent's fixed description. `name` is the name of its folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    capabilities: tuple[str, ...]
    typical_use_cases: tuple[str, ...]
    tools: tuple[str, ...] = ()
    tier: Tier = Tier.PRO
    temperature: float | None = None
    max_iterations: int = 5
    timeout_s: int = 600
    max_retries: int = 2
