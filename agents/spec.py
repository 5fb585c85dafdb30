"""What an agent says of itself: for the planner, for people, and for whoever runs it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.exchange import AgentInput, Work
from agents.runtime.context import AgentContext
from agents.tuning.values import MOST_RETRIES, Approval, Tuning
from hyperagent.lib.llm.types import Tier

AgentProgram = Callable[[AgentContext, AgentInput], Awaitable[Work]]


class AgentSpec(BaseModel):
    """An agent's fixed description. `name` is the name of its folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z_]{1,30}$")
    description: str = Field(min_length=20)
    capabilities: tuple[str, ...] = Field(min_length=1)
    typical_use_cases: tuple[str, ...] = Field(min_length=2)
    """Questions as people ask them; the router and the planner read them as examples."""
    tools: tuple[str, ...] = ()
    """The tools that it may call; whatever else a model asks for is refused at the gateway."""
    needs: tuple[str, ...] = ()
    """Providers without which it cannot work at all (`agents.tools.providers`): it then says so, and asks no model."""
    handoffs: bool = True
    """Whether its model is offered the handoffs that the matrix allows."""
    approval: Approval = "at_calls"
    """Where a person is asked: for each call of a tool that needs it, or, besides that, before the agent begins."""
    tier: Tier = Tier.PRO
    temperature: float | None = None
    max_iterations: int = Field(default=5, ge=1, le=50)
    timeout_s: int = Field(default=600, ge=1)
    """For one attempt, without the time in which a person is asked."""
    max_retries: int = Field(default=2, ge=0, le=MOST_RETRIES)
    data_fields: tuple[str, ...] = ()
    """Keys that `data` of its output has when the task is done; the contract suite looks for them."""

    @property
    def numbers_sources(self) -> bool:
        """Whether numbers in its result name sources that it found itself: `data` has them then. Others repeat the
        numbers of those before them."""
        return "sources" in self.data_fields

    def with_tools(self, names: Sequence[str]) -> "AgentSpec":
        """As it is in a run whose user has connected servers with these tools."""
        return self.model_copy(update={"tools": (*self.tools, *names)}) if names else self

    def tuned_by(self, tuning: Tuning) -> "AgentSpec":
        """As it is in a run for which administrators chose this."""
        chosen = {name: value for name, value in tuning if value is not None and name in AgentSpec.model_fields}
        return self.model_copy(update=chosen) if chosen else self

    def described(self) -> dict[str, Any]:
        """For the prompts of router and planner, and for the API."""
        return {
            "name": self.name,
            "description": self.description,
            "capabilities": list(self.capabilities),
            "tools": list(self.tools),
            "typical_use_cases": list(self.typical_use_cases),
        }
