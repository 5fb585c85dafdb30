"""What a call does beyond giving its caller something to read, as far as text of others may have brought it about: it
changes something, or sends data out. Looks where it must; whoever asks records what it found (`agents.tools.verdicts`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from uuid import UUID

from agents.runtime.context import AgentContext
from agents.tools.taint import is_known, taint_of, texts_of
from agents.tools.tool import Sends, ToAddress, Tool, ToolError, ToOthers
from hitl.policy import Acts
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.outside.egress import egress

_BROWSER: Final = "browser"
_PROJECT: Final = "project"
_LEAST_CARRIED: Final = 4
_PIECES: Final = re.compile(r"([\w@.+-]+)")
_SIMPLE: Final = frozenset(("http", "https", "html", "index", "page", "search", "query", "docs", "true", "false"))


async def acts_of(context: AgentContext, tool: Tool, arguments: Mapping[str, Any]) -> Acts:
    """For a call in a run that has read text of others."""
    if _shares(tool, arguments):
        return Acts.SHARES
    if tool.effect == "write" or tool.irreversible:
        if tool.own_files is None or tool.irreversible or await _replaces(context, tool, arguments):
            return Acts.CHANGES if not isinstance(tool.sends, ToOthers) or tool.host else Acts.SENDS
    elif tool.own_files is not None and await _replaces(context, tool, arguments):
        return Acts.CHANGES
    return Acts.SENDS if _sends(context, tool, arguments) else Acts.NOTHING


def carries_out(context: AgentContext, tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether the address that the call names might carry something out: it is known from nowhere."""
    url = _address(tool, arguments)
    return bool(url) and not is_known(context.run, url)


def only_over(context: AgentContext) -> tuple[UUID, ...] | None:
    """The runs whose files a program may replace without anybody being asked; None: any, for nothing of others was
    read."""
    run = context.run
    return (run.execution_id, run.effects_root) if taint_of(run) else None


def shown_address(context: AgentContext, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """For a card: the whole address, decoded, in pieces; `carried`: those that stand in what the run has been told or
    has read, and that would leave with it."""
    url = _address(tool, arguments)
    return {"url": url, "host": _host(url), "parts": parts_of(url, texts_of(context.run))} if url else None


def parts_of(url: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """The address as people read it. Its host is never marked: it is where the data would go. Pure."""
    head, between, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    told = "\n".join(texts).casefold()
    pieces = [(f"{head}{between}{host}{slash}", False)]
    for piece in _PIECES.split(_decoded(path)):
        if not piece:
            continue
        bare = piece.casefold().strip(".-+_")
        carried = len(bare) >= _LEAST_CARRIED and bare not in _SIMPLE and bare in told
        if pieces[-1][1] is carried:
            pieces[-1] = (pieces[-1][0] + piece, carried)
        else:
            pieces.append((piece, carried))
    return [{"text": text, "carried": carried} for text, carried in pieces]


def _sends(context: AgentContext, tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """A tool that does not say where to stays within the installation: all others have to say it."""
    match tool.sends:
        case None | Sends.NOWHERE | Sends.SERVICE:
            return False
        case ToOthers(unless) if unless is not None and unless(arguments):
            return False
        case ToOthers():
            # What only reads may ask those whom an administrator trusts; nobody else learns of it.
            return not (tool.effect == "read" and tool.host and egress().trusts(tool.host))
        case ToAddress():
            return carries_out(context, tool, arguments) and not _is_trusted(tool, arguments)
        case Sends.NETWORK:
            return _has_network(context)


def _is_trusted(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Not for a browser: it follows whatever the page says, so an address at a trusted host may lead elsewhere with all
    that it is made of. Who reads pages stays there (`Call.stays`)."""
    host = _host(_address(tool, arguments))
    return bool(host) and _BROWSER not in tool.needs and egress().trusts(host)


def _has_network(context: AgentContext) -> bool:
    """Where nobody can tell, it has."""
    door = context.run.tools
    return door is None or bool(getattr(door.provider("sandbox"), "has_network", True))


async def _replaces(context: AgentContext, tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether it would take the place of a file that another than this run wrote. So where that cannot be told."""
    door = context.run.tools
    if door is None:
        return True
    run = context.run
    workspace = door.provider("workspace")
    for scope, path in _places(tool, arguments):
        try:
            if await workspace.stood_before(run.about, path, scope=scope, runs=(run.execution_id, run.effects_root)):
                return True
        except ToolError:
            # There is no such place, or no such file can be: the call itself says so.
            continue
    return False


def _shares(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether it changes files of a project, new ones too: whoever is a member reads them, whoever wrote them."""
    return any(scope == _PROJECT for scope, _ in _places(tool, arguments))


def _places(tool: Tool, arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """None where the arguments name none that there can be: the call itself says so."""
    try:
        return tool.own_files.replaces(dict(arguments)) if tool.own_files is not None else ()
    except ToolError:
        return ()


def _address(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Empty for what is none, such as the path of a picture."""
    given = str(arguments.get(tool.address) or "").strip() if tool.address else ""
    return given if given.lower().startswith(("http://", "https://")) or tool.address == "url" else ""


def _host(url: str) -> str:
    try:
        return canonical(url, allow_private=True, any_port=True).host
    except BadAddress:
        pass
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _decoded(text: str) -> str:
    """Also what was encoded twice, or three times."""
    for _ in range(3):
        plain = unquote(text.replace("+", " "))
        if plain == text:
            break
        text = plain
    return text
