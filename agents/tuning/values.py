"""What administrators chose for an agent, in the place of what its spec and the environment say. Values only."""

from typing import Final, Literal

from pydantic import Field

from hyperagent.lib.llm.types import Tier, Value

Approval = Literal["at_calls", "before_agent"]
MOST_RETRIES: Final = 5
MOST_TEMPERATURE: Final = 2


class Tuning(Value):
    """For one agent. What is None was left as it is."""

    model: str | None = None
    """A name such as <AGENT>_MODEL takes."""
    tier: Tier | None = None
    temperature: float | None = Field(default=None, ge=0, le=MOST_TEMPERATURE)
    timeout_s: int | None = Field(default=None, ge=1)
    max_retries: int | None = Field(default=None, ge=0, le=MOST_RETRIES)
    approval: Approval | None = None


UNTUNED: Final = Tuning()
