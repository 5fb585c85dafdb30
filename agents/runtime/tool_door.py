"""What an agent reaches tools by, as the runtime sees it: `agents.tools.gateway` is the one behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from agents.engine.events import Source
from agents.engine.records import StepRecord
from hyperagent.lib.llm.types import ToolSpec

if TYPE_CHECKING:
    # Both have such a door.
    from agents.runtime.context import AgentContext
    from agents.runtime.driven import About, DrivenRun


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a tool call gave, as its caller sees it. `content` is what a model reads; `data` is the value behind it.
    `trouble`: what went wrong, for a sentence that says by itself that something did."""

    content: str
    data: Any = None
    is_error: bool = False
    sources: tuple[Source, ...] = ()
    trouble: str = ""

    @classmethod
    def failed(cls, trouble: str, data: Any = None) -> Self:
        return cls(f"Error: {trouble}", data, is_error=True, trouble=trouble)


@dataclass(frozen=True, slots=True)
class ConnectedTool:
    """A tool of a connected server, as far as a plan that names it has to know it."""

    name: str
    requires_approval: bool = False
    irreversible: bool = False


class ToolDoor(Protocol):
    """The one door to the tools (`agents.tools.gateway`); each process has one."""

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """What a model is told of these tools. Raises KeyError for one that does not exist."""

    async def call(
        self, context: "AgentContext", name: str, arguments: Any, *, allowed: Sequence[str], call_id: str | None
    ) -> ToolReply:
        """Checks and performs one call. Never raises for what the tool or its arguments did wrong: is_error says it."""

    async def happened(self, context: "AgentContext", begun: StepRecord) -> bool | None:
        """Whether an effect of this agent that was begun has happened, as its tool's probe finds; None if none can
        tell. Nothing is done again."""

    def protected(self, names: Sequence[str]) -> Sequence[Any]:
        """Those of these tools (`agents.tools.tool.Tool`) that need a person's yes for each call."""

    def is_of_others(self, name: str) -> bool:
        """Whether what this tool gives may be text of others; so for one that is not there (any more)."""

    def lacks(self, names: Sequence[str]) -> str:
        """Which of these providers are not configured, in words for people with the way out; empty if all are."""

    def provider(self, name: str) -> Any:
        """What tools reach this part of the world by (`agents.tools.providers`); for tools that get no `Call`."""

    async def lacks_for(self, about: "About", names: Sequence[str]) -> str:
        """The same for this user, who may lack what the installation has, such as a mailbox."""

    async def clear_up(self, run: "DrivenRun") -> None:
        """Takes away what the run's calls put somewhere for their time only; called before its end is stored, again
        after a crash. Takes a second or two at most, and raises nothing."""

    async def connected(self, context: "AgentContext") -> Mapping[str, Any]:
        """The tools (`agents.tools.tool.Tool`) of servers that people connected, as this agent has them, by name. A
        step: the agent keeps them to its end, on every replay."""

    async def connected_tools(self, context: "AgentContext") -> Mapping[str, Sequence[ConnectedTool]]:
        """Such tools by agent, for the planner; the run keeps them. A step."""
