"""What a skill is, and what it gets to work with. Knows no single skill and not how they are found.

class Shout(ToolSkill[Params]):
    id, version, category = "shout", "1.0.0", "writing"
    description = "Says a text louder."
    params, output = Params, Output

    async def execute(self, params: Params, context: SkillContext) -> SkillResult: ...

SKILL = Shout()
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, Field

from agents.craft.exchange import AgentInput, Value
from agents.craft.hearing import with_said
from agents.engine.context import Branch
from agents.engine.events import Source
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from hyperagent.lib.llm.types import Message, ModelReply, Role, Tier

MAX_DEPTH: Final = 3

P = TypeVar("P", bound=BaseModel)
T = TypeVar("T", bound=BaseModel)


class BadSkill(RuntimeError):
    """A folder of the skills is not a skill; the message says what it lacks."""


class SkillError(Exception):
    """The skill could not do it; `message` tells a model why and what to do instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SkillMetadata(Value):
    """A skill as models and people choose it. `parameters` and `output_schema` are JSON schemas."""

    id: str = Field(pattern=r"^[a-z][a-z_]{1,30}$")
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    description: str = Field(min_length=20)
    category: str = Field(pattern=r"^[a-z][a-z_]{1,30}$")
    parameters: dict[str, Any]
    output_schema: dict[str, Any]


class SkillResult(Value):
    """`output`: as the skill's schema says. `text`: the same for a model or a person to read."""

    output: dict[str, Any]
    text: str
    sources: tuple[Source, ...] = ()


Graph = Callable[["SkillContext", P], Awaitable[SkillResult]]


class Skill(ABC, Generic[P]):
    """Something that is done in one or more steps. Instances have no state."""

    id: str
    version: str
    description: str
    category: str
    params: type[P]
    output: type[BaseModel]
    tools: tuple[str, ...] = ()
    """The tools that it may call, beside those rules that hold for the agent that invokes it."""

    @abstractmethod
    def create_graph(self) -> Graph[P]:
        """What runs: an async function over the context and the checked parameters. Its steps are the context's
        calls, so the journal has its state; a graph of nodes would be a second way to hold it."""

    @property
    def metadata(self) -> SkillMetadata:
        return SkillMetadata(
            id=self.id,
            version=self.version,
            description=self.description,
            category=self.category,
            parameters=self.params.model_json_schema(),
            output_schema=self.output.model_json_schema(),
        )


class ToolSkill(Skill[P]):
    """A skill of one function."""

    @abstractmethod
    async def execute(self, params: P, context: "SkillContext") -> SkillResult:
        """Does it. Raises SkillError for what could not be done."""

    def create_graph(self) -> Graph[P]:
        async def only(context: "SkillContext", params: P) -> SkillResult:
            return await self.execute(params, context)

        return only


@dataclass(frozen=True, slots=True)
class SkillContext:
    """One invocation: whose it is, and the only ways to the outside. `chain`: the skills that led here, with this one.

    Models' texts are not shown to people: the answer is the agent's.
    """

    context: AgentContext
    task: AgentInput
    chain: tuple[str, ...]
    allowed: tuple[str, ...]
    invoke: Callable[[str, Mapping[str, Any]], Awaitable[SkillResult]]

    async def model(self, *, system: str, user: str, stage: str, tier: Tier = Tier.PRO) -> ModelReply:
        request = self.task.request(agent=self.chain[-1], tier=tier, messages=_messages(system, user))
        return await self.context.model(await with_said(self.context, request), stage=stage, shown=False)

    async def structured(self, schema: type[T], *, system: str, user: str, stage: str, tier: Tier = Tier.PRO) -> T:
        request = self.task.request(agent=self.chain[-1], tier=tier, messages=_messages(system, user))
        return await self.context.structured(await with_said(self.context, request), schema, stage=stage)

    async def tool(self, name: str, **arguments: Any) -> ToolReply:
        return await self.context.tool(name, arguments, allowed=self.allowed)

    async def tools_at_once(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ToolReply]:
        """Several tool calls side by side; their replies in the order of the calls."""
        return await self.context.all(*(_calling(name, arguments, self.allowed) for name, arguments in calls))

    async def invoke_skill(self, skill_id: str, params: Mapping[str, Any]) -> SkillResult:
        """Another skill as a part of this one. Raises SkillError."""
        return await self.invoke(skill_id, params)


def _messages(system: str, user: str) -> tuple[Message, ...]:
    return (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))


def _calling(name: str, arguments: Mapping[str, Any], allowed: tuple[str, ...]) -> Branch:
    async def branch(context: AgentContext) -> ToolReply:
        return await context.tool(name, dict(arguments), allowed=allowed)

    return branch
