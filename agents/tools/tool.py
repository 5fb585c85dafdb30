"""What a tool is: one typed async function, and what its author says of it. Knows no provider and runs nothing."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel

from agents.craft.exchange import AgentInput
from agents.engine.events import Body, Source
from agents.mcp.definitions import CONNECTED
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.tools import previews
from agents.tools.previews import Change, Preview
from agents.tools.schema import BadTool, arguments_of, parameters_of
from agents.tools.values import ModelUse
from hyperagent.lib.llm.types import ToolSpec

if TYPE_CHECKING:
    from agents.tools.providers import Providers

__all__ = [
    "ANY_AGENT",
    "BadTool",
    "Call",
    "OwnFiles",
    "Reply",
    "Sends",
    "ToAddress",
    "ToOthers",
    "Tool",
    "ToolError",
    "composite",
    "tool",
]

ANY_AGENT: Final = ("*",)
"""For `agents=`: whoever has it among the tools of its spec."""
_KEPT: Final = 1_000
_NAME: Final = re.compile(r"^[a-z][a-z0-9_]{1,62}$")

Function = Callable[..., Awaitable[Any]]
Places = Callable[[dict[str, Any]], tuple[tuple[str, str], ...]]
"""From a call's arguments to the files that it would put something in the place of: scope and path of each. A path that
ends with a slash stands for all below it."""
Silent = Callable[[Mapping[str, Any]], bool]
"""From a call's arguments to whether they tell whoever gets them nothing."""
Becomes = Callable[[Mapping[str, Any], str | None], Change]
"""From a call's arguments and the text that its file has, None if it has none that can be shown, to what it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFiles:
    """Files of the user's own workspace, of which older versions are kept: a call that changes them can be taken back.
    Tools that only read say so, too, if they leave files behind."""

    replaces: Places
    becomes: Becomes | None = None
    """What it makes of the text of the one file that `replaces` names; people who are asked see that."""


class Sends(StrEnum):
    """Where what a call says may come to. Beyond what it says, a call tells its own provider what it needs anyway."""

    NOWHERE = "nowhere"
    """It stays within the installation, or goes to the person's own accounts."""
    SERVICE = "service"
    """To a service that an administrator chose, such as a search engine or a model's provider."""
    NETWORK = "network"
    """Wherever a program sends it, if its box has a network."""


@dataclass(frozen=True, slots=True)
class ToAddress:
    """It goes to the address that this argument names: whoever has it reads whatever the address was made of."""

    argument: str


@dataclass(frozen=True, slots=True)
class ToOthers:
    """It goes to others. `unless`: which calls tell them nothing but that there was one."""

    unless: Silent | None = None


class ToolError(Exception):
    """The tool could not do it; `message` tells the model why and what to do instead. Recorded, no traceback.

    Write it yourself: what the other side said is untrusted and belongs into a reply, never in here.
    `may_have_happened` is for effects: true where the world may have been changed all the same. `use`: what a model
    took for it, as of a `Reply`.
    """

    def __init__(self, message: str, *, may_have_happened: bool = False, use: ModelUse | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.may_have_happened = may_have_happened
        self.use = use


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the tool sees it. `key`: the idempotency key of an effect, to hand on where one is taken; else "".

    An effect that takes preparing awaits `touching` right before it touches the world. Its probe then knows by
    `touched` whether the attempt that was interrupted came so far; without, it certainly did not happen.

    What is shown by `emit` is shown once, whatever attempt it is from; by `emit_live` each attempt shows all of it,
    under the same `place`, which names the call within its run.

    `only_over`: set in a run that has read text of others, which then replaces, without asking, only files that one of
    these runs wrote: itself, and the one that it is a copy of.

    `stays`: the address that the call names was let through for itself, not because it carries nothing. So where its
    server redirects to another host, that is not followed.
    """

    providers: "Providers"
    about: About
    agent_name: str
    agent_input: AgentInput | None
    key: str
    emit: Callable[[Body], None]
    touching: Callable[[], Awaitable[None]]
    touched: bool = False
    emit_live: Callable[[Body], None] | None = None
    place: str = ""
    stays: bool = False
    only_over: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool gives if its bare value does not say it all. Without `content` the model reads `data` as JSON.
    `use`: of a model that the tool asked; it counts for the run, if the tool only reads."""

    content: str | None = None
    data: Any = None
    sources: tuple[Source, ...] = ()
    use: ModelUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What its author says of any tool."""

    agents: tuple[str, ...]
    """Who may call it, or ANY_AGENT."""
    name: str = ""
    """Left out where it is the function's."""
    label: str = ""
    """What people call it, in a literal `gettext_noop("Run a program")`, which `agents.tools.labels` reads without
    loading the tool. Without, it is called by its name in words."""
    needs: tuple[str, ...] = ()
    """Providers that must be there."""
    only_in: str = ""
    """The execution mode without which it is not callable."""
    requires_approval: bool = False
    """Whether a person is asked first."""
    irreversible: bool = False
    """Whether no standing rule may answer for them."""
    preview: Preview = previews.plain
    """How people see a call that they are asked about (`agents.tools.previews`)."""
    sends: Sends | ToAddress | ToOthers | None = None
    """Where what a call says may come to; to be said wherever a provider reaches further than the installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCall(Declared):
    """What is said besides of a tool each of whose calls is one recorded act: of all but composites."""

    effect: Literal["read", "write"] = "read"
    """What changes the world is a "write", and goes into the ledger."""
    probe: Function | None = None
    """`(call, **arguments)`: whether an effect that was interrupted happened; None if it cannot tell."""
    own_files: OwnFiles | None = None
    """Those that it changes or leaves behind. An effect that says so changes nothing else."""
    settle: Function | None = None
    """`(call, **arguments)`: gives arguments that take the place of the call's own before anybody is asked about it,
    such as the hash of a file that it names: what is approved is then exactly what is done."""
    untrusted: bool = False
    """The result was written by others, and models get it marked as such."""
    timeout_s: float = 60
    """For one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(DeclaredCall):
    """A tool, whole and checked: what its author says of it, and what its function says of itself."""

    name: str
    description: str
    function: Function
    arguments: type[BaseModel]
    composite: bool = False
    host: str = ""
    """Of the connected server that has it, where that is at an address."""

    @property
    def changes_the_world(self) -> bool:
        """What a kill switch stops."""
        return self.effect == "write" or self.requires_approval or self.irreversible

    @property
    def address(self) -> str:
        """The argument that names the address to which it sends what a call says; empty where none does."""
        return self.sends.argument if isinstance(self.sends, ToAddress) else ""

    def is_for(self, agent: str) -> bool:
        return self.agents == ANY_AGENT or agent in self.agents

    def spec(self) -> ToolSpec:
        """What a model is told of it; the same one each time, for all runs."""
        return _spec(self.name, self.description, self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class tool(DeclaredCall):  # noqa: N801 - reads as what it is at its place, a decorator
    """Makes a tool of an async function `(call: Call, …)`; its docstring and texts are what the model reads. Raises
    BadTool for what is not whole."""

    def __call__(self, function: Function) -> Tool:
        made = _made(self, function, first=Call)
        if self.effect not in ("read", "write"):
            raise BadTool(f"tool '{made.name}': effect='{self.effect}' means nothing; say 'read' or 'write'")
        if self.effect == "read" and self.probe is not None:
            raise BadTool(f"tool '{made.name}' only reads: there is nothing that a probe could look for")
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class composite(Declared):  # noqa: N801 - as above
    """Makes a tool of an async function `(context: AgentContext, …)`. Its inner steps are recorded, not the call: they
    are the effects, and their results the text of others. It has no time limit, for it may wait for people."""

    def __call__(self, function: Function) -> Tool:
        return _made(self, function, first=AgentContext)


def _made(said: Declared, function: Function, *, first: type) -> Tool:
    name = said.name or function.__name__
    _check(name, said, function)
    made = Tool(
        **{**{one.name: getattr(said, one.name) for one in fields(said)}, "name": name},
        description=inspect.cleandoc(inspect.getdoc(function) or ""),
        function=function,
        arguments=arguments_of(function, name=name, first=first),
        composite=first is AgentContext,
    )
    if made.address and made.address not in made.arguments.model_fields:
        raise BadTool(f"tool '{name}' has no argument '{made.address}', to which it says that it sends")
    return made


def _check(name: str, said: Declared, function: Function) -> None:
    if name.startswith(CONNECTED):
        raise BadTool(f"tool '{name}': names that begin with {CONNECTED} are those of connected servers")
    if not _NAME.match(name):
        raise BadTool(f"tool '{name}': a name is small letters, digits and _, two to 63 of them")
    for field, given in (("agents", said.agents), ("needs", said.needs)):
        if not isinstance(given, tuple):
            raise BadTool(f"tool '{name}': {field} has to be a tuple: ({given!r},) with a comma")
    if not inspect.iscoroutinefunction(function):
        raise BadTool(f"tool '{name}' must be an async function")
    if not inspect.getdoc(function):
        raise BadTool(f"tool '{name}' has no docstring; models choose a tool by it")


async def unknown_once_touched(call: Call, **_: Any) -> bool | None:
    """The probe of what nobody can be asked about: what did not come to touch the world has done nothing, and of all
    else nobody knows."""
    return None if call.touched else False


@lru_cache(_KEPT)
def _spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters=parameters_of(arguments))
