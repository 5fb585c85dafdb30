"""What a tool is: one typed async function, and what its author says of it. Knows no provider and runs nothing."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel

from agents.engine.events import Body, Source
from agents.exchange import AgentInput
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

__all__ = ["ANY_AGENT", "BadTool", "Call", "Reply", "Sends", "Tool", "ToolError", "tool"]

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


class Sends(StrEnum):
    """Where what a call says may come to. Beyond what it says, a call tells its own provider what it needs anyway."""

    NOWHERE = "nowhere"
    """It stays within the installation, or goes to the person's own accounts."""
    SERVICE = "service"
    """To a service that an administrator chose, such as a search engine or a model's provider."""
    ADDRESS = "address"
    """To the address that the call names: whoever has it reads whatever the address was made of."""
    NETWORK = "network"
    """Wherever a program sends it, if its box has a network."""
    OTHERS = "others"
    """To others."""


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


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, whole and checked. `tool` below says what the fields mean."""

    name: str
    description: str
    function: Function
    arguments: type[BaseModel]
    agents: tuple[str, ...]
    effect: Literal["read", "write"]
    requires_approval: bool
    irreversible: bool
    timeout_s: float
    needs: tuple[str, ...]
    probe: Function | None
    composite: bool
    untrusted: bool
    preview: Preview
    settle: Function | None = None
    only_in: str = ""
    own_files: bool = False
    sends: Sends | None = None
    address: str = ""
    says_nothing: Silent | None = None
    replaces: Places | None = None
    becomes: Becomes | None = None
    host: str = ""
    """Of the connected server that has it, where that is at an address."""
    label: str = ""
    """What people call it, in English; empty where its name in words does."""

    @property
    def changes_the_world(self) -> bool:
        """What a kill switch stops."""
        return self.effect == "write" or self.requires_approval or self.irreversible

    def is_for(self, agent: str) -> bool:
        return self.agents == ANY_AGENT or agent in self.agents

    def spec(self) -> ToolSpec:
        """What a model is told of it; the same one each time, for all runs."""
        return _spec(self.name, self.description, self.arguments)


async def unknown_once_touched(call: Call, **_: Any) -> bool | None:
    """The probe of what nobody can be asked about: what did not come to touch the world has done nothing, and of all
    else nobody knows."""
    return None if call.touched else False


@lru_cache(_KEPT)
def _spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters=parameters_of(arguments))


def tool(
    *,
    agents: tuple[str, ...],
    label: str = "",
    effect: Literal["read", "write"] = "read",
    requires_approval: bool = False,
    irreversible: bool = False,
    timeout_s: float = 60,
    needs: tuple[str, ...] = (),
    probe: Function | None = None,
    composite: bool = False,
    untrusted: bool = False,
    preview: Preview = previews.plain,
    settle: Function | None = None,
    only_in: str = "",
    own_files: bool = False,
    sends: Sends | None = None,
    address: str = "",
    says_nothing: Silent | None = None,
    replaces: Places | None = None,
    becomes: Becomes | None = None,
    name: str = "",
) -> Callable[[Function], Tool]:
    """Makes a tool of an async function `(call: Call, …)`; its docstring and texts are what the model reads.

    `label`: what people call it, in a literal `gettext_noop("Run a program")`, which `agents.tools.labels` reads
    without loading the tool. Without, it is called by its name in words.
    `agents`: who may call it, or ANY_AGENT.  `effect`: "write" if it changes the world; it then goes into the ledger.
    `requires_approval`, `irreversible`: whether a person is asked first; whether no standing rule may answer for them.
    `timeout_s`: for one call; not for composites, which may wait for people.  `needs`: providers that must be there.
    `probe(call, **arguments)`: whether an effect that was interrupted happened; None if it cannot tell.
    `composite`: the function gets the AgentContext instead, and its inner steps are recorded, not the call.
    `untrusted`: the result was written by others, and models get it marked as such.
    `settle(call, **arguments)`: gives arguments that take the place of the call's own before anybody is asked about
    it, such as the hash of a file that it names: what is approved is then exactly what is done.
    `only_in`: the execution mode without which it is not callable.
    `own_files`: what it changes are files of the user's own workspace, of which older versions are kept; which ones,
    `replaces(arguments)` says. It is of use to tools that only read, too, if they leave files behind.
    `sends`: where what a call says may come to; to be said wherever a provider reaches further than the installation.
    `address`: the argument that names it, where that is an address.
    `says_nothing(arguments)`: which calls tell the others, to whom it sends, nothing but that there was one.
    `preview(arguments)`: how people see a call that they are asked about (`agents.tools.previews`).
    `becomes(arguments, before)`: what it makes of the text of the one file that `replaces` names; people see that.
    Raises BadTool for what is not whole.
    """

    def decorate(function: Function) -> Tool:
        called = name or function.__name__
        if called.startswith(CONNECTED):
            raise BadTool(f"tool '{called}': names that begin with {CONNECTED} are those of connected servers")
        if not _NAME.match(called):
            raise BadTool(f"tool '{called}': a name is small letters, digits and _, two to 63 of them")
        if effect not in ("read", "write"):
            raise BadTool(f"tool '{called}': effect='{effect}' means nothing; say 'read' or 'write'")
        for field, given in (("agents", agents), ("needs", needs)):
            if not isinstance(given, tuple):
                raise BadTool(f"tool '{called}': {field} has to be a tuple: ({given!r},) with a comma")
        if not inspect.iscoroutinefunction(function):
            raise BadTool(f"tool '{called}' must be an async function")
        if not inspect.getdoc(function):
            raise BadTool(f"tool '{called}' has no docstring; models choose a tool by it")
        if (own_files or becomes is not None) and replaces is None:
            raise BadTool(f"tool '{called}' changes the user's files: say by replaces= which ones a call would replace")
        if (sends is Sends.ADDRESS) != bool(address):
            raise BadTool(f"tool '{called}': sends=Sends.ADDRESS and address= go together; name the argument")
        if effect == "read" and probe is not None:
            raise BadTool(f"tool '{called}' only reads: there is nothing that a probe could look for")
        if composite and (effect == "write" or untrusted):
            raise BadTool(f"tool '{called}' is composite: its inner calls are effects and untrusted, not itself")
        arguments = arguments_of(function, name=called, first=AgentContext if composite else Call)
        if address and address not in arguments.model_fields:
            raise BadTool(f"tool '{called}' has no argument '{address}', which address= names")
        return Tool(
            name=called,
            description=inspect.cleandoc(inspect.getdoc(function) or ""),
            function=function,
            arguments=arguments,
            agents=agents,
            effect=effect,
            requires_approval=requires_approval,
            irreversible=irreversible,
            timeout_s=timeout_s,
            needs=needs,
            probe=probe,
            composite=composite,
            untrusted=untrusted,
            preview=preview,
            settle=settle,
            only_in=only_in,
            own_files=own_files,
            sends=sends,
            address=address,
            says_nothing=says_nothing,
            replaces=replaces,
            becomes=becomes,
            label=label,
        )

    return decorate
