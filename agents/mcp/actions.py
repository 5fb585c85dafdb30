"""Everything that changes a connected server or what its tools may do. The page calls these verbs; they say who may.

Servers of the installation are the administrators'; a person's own are that person's. Only administrators connect
programs and servers within private networks.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from agents import registry
from agents.mcp import listing
from agents.mcp.definitions import OWN, SLUG, Risk, called
from agents.mcp.folders import installed
from agents.mcp.models import McpServer, McpTool, ServerKind, ServerState
from agents.mcp.reading import bare_config, config_of
from agents.mcp.sealing import LOST, opened, sealed
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import JSON, Target, actor_of, record
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused
from hyperagent.lib.secrets import Unreadable
from hyperagent.lib.text import clean_text

T = TypeVar("T")
MOST_SERVERS: Final = 20
SECRET_CHARS: Final = 8_000
_HEADER: Final = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
_VARIABLE: Final = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")
# What the protocol or the connection itself says.
_NOT_FREE: Final = ("host", "content-length", "content-type", "accept", "transfer-encoding", "connection", "cookie")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A server as somebody wants it. `secrets`: headers of one at an address, variables of a program; None leaves
    those that are stored."""

    name: str
    kind: ServerKind = ServerKind.HTTP
    url: str = ""
    is_inner: bool = False
    command: str = ""
    args: tuple[str, ...] = ()
    folder: str = ""
    agents: tuple[str, ...] = ()
    secrets: Mapping[str, str] | None = field(default=None, repr=False)
    for_installation: bool = False


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a person decided of a tool, having seen the definition with this pin."""

    pin: str
    risk: Risk
    requires_approval: bool
    allowed: bool


def add_server(user: User, wanted: Wanted) -> McpServer:
    """Raises Refused with a fault for each field, Conflict for a name that is taken."""
    _check_may(user, wanted)
    values = _checked(wanted)
    owner = None if wanted.for_installation else user
    with transaction.atomic():
        User.objects.hold(user.pk)
        if McpServer.objects.filter(owner=owner).count() >= MOST_SERVERS:
            raise Conflict(
                "too_many_servers", _("There are {limit} servers already. Delete one first.").format(limit=MOST_SERVERS)
            )
        kept = _kept_secrets(wanted, {})
        made = _stored(lambda: McpServer.objects.create(owner=owner, made_by=user, **values, **kept), wanted.name)
        _record(AuditKind.CONNECTION_ADDED, user, made)
    return made


def change_server(user: User, server_id: uuid.UUID, wanted: Wanted) -> McpServer:
    """Another address or program makes it another server: its secrets are entered anew, its tools reviewed anew."""
    with transaction.atomic():
        server = _locked(user, server_id)
        wanted = replace(wanted, kind=ServerKind(server.kind), for_installation=server.owner_id is None)
        _check_may(user, wanted)
        values = _checked(wanted)
        moved = any(values[name] != getattr(server, name) for name in ("url", "command", "args", "folder"))
        renamed = values["name"] != server.name
        kept = _kept_secrets(wanted, {} if moved else _opened(server))
        for name, value in {**values, **kept}.items():
            setattr(server, name, value)
        if moved:
            server.state, server.last_error = ServerState.NEW, ""
            server.tools.update(reviewed_pin="", allowed=False)
        _stored(server.save, wanted.name)
        if renamed:
            _name_tools(server)
        _record(AuditKind.CONNECTION_CHANGED, user, server, what="settings", moved=moved)
    return server


def delete_server(user: User, server_id: uuid.UUID) -> None:
    with transaction.atomic():
        server = _locked(user, server_id)
        _record(AuditKind.CONNECTION_REMOVED, user, server)
        server.delete()


def switch_server(user: User, server_id: uuid.UUID, *, enabled: bool) -> None:
    with transaction.atomic():
        server = _locked(user, server_id)
        server.enabled = enabled
        server.save(update_fields=["enabled"])
        _record(AuditKind.CONNECTION_CHANGED, user, server, what="enabled", enabled=enabled)


def review_tool(user: User, server_id: uuid.UUID, tool_id: uuid.UUID, reviewed: Reviewed) -> McpTool:
    """Conflict where the server describes it otherwise by now than this person was shown."""
    with transaction.atomic():
        server = _locked(user, server_id)
        tool = server.tools.select_for_update(no_key=True).filter(id=tool_id).first()
        if tool is None:
            raise NotThere
        if tool.pin != reviewed.pin:
            raise Conflict(
                "tool_changed",
                _("{called} was changed by its server meanwhile. Look at it again.").format(called=tool.called),
            )
        tool.risk = reviewed.risk.value
        tool.requires_approval = reviewed.requires_approval or reviewed.risk is Risk.IRREVERSIBLE
        tool.allowed = reviewed.allowed
        tool.reviewed_pin, tool.reviewed_definition = tool.pin, tool.definition
        tool.reviewed_by = user
        tool.save()
        McpTool.objects.filter(id=tool.id).update(reviewed_at=Now())
        risk, asks = str(tool.risk), tool.requires_approval
        _record(AuditKind.POLICY_CHANGED, user, server, tool=tool.called, allowed=tool.allowed, risk=risk, asks=asks)
    return tool


def look(user: User, server_id: uuid.UUID) -> McpServer:
    """Connects, and keeps what the server says of its tools, or why it cannot be connected. Takes seconds, and holds no
    lock meanwhile."""
    from agents.mcp.connecting import NotConnected  # a second of import
    from agents.mcp.probing import listed
    from agents.mcp.ways import ways_of

    server = seen(user, server_id)
    config = bare_config(server)
    try:
        config = config_of(server)
        found = asyncio.run(listed(config, ways_of(user.pk)))
    except Unreadable:
        listing.keep_failure(config, LOST, needs_sign_in=config.kind == "http")
    except NotConnected as error:
        listing.keep_failure(config, error.message, needs_sign_in=error.needs_sign_in)
    else:
        listing.keep(config, found)
    server.refresh_from_db()
    return server


def seen(user: User, server_id: uuid.UUID) -> McpServer:
    """Raises NotThere for what this person may not manage."""
    server = McpServer.objects.managed_by(user).filter(id=server_id).first()
    if server is None:
        raise NotThere
    return server


# --- inside


def _name_tools(server: McpServer) -> None:
    """After the server: another one may have its old name, and tools of the same names, by now."""
    taken: set[str] = set()
    for tool in server.tools.order_by("called"):
        tool.called = called(server.name, tool.name, own=server.is_own, taken=taken)
        taken.add(tool.called)
        tool.save(update_fields=["called"])


def _record(kind: AuditKind, user: User, server: McpServer, **details: JSON) -> None:
    details = {**details, "is_installations": server.owner_id is None}
    record(kind, actor=actor_of(user), target=Target("mcp_server", str(server.pk)), details=details)


def _locked(user: User, server_id: uuid.UUID) -> McpServer:
    server = (
        McpServer.objects.managed_by(user).select_for_update(no_key=True, of=("self",)).filter(id=server_id).first()
    )
    if server is None:
        raise NotThere
    return server


def _check_may(user: User, wanted: Wanted) -> None:
    if user.is_staff and wanted.for_installation:
        return
    if wanted.for_installation:
        raise NotAllowed(
            "not_allowed", _("Only an administrator connects servers for everybody. Connect it for yourself.")
        )
    if wanted.kind is ServerKind.STDIO:
        raise NotAllowed("not_allowed", _("Programs are connected by administrators, for everybody. Ask one of them."))
    if wanted.is_inner:
        raise NotAllowed(
            "not_allowed", _("Servers in a private network are connected by administrators, for everybody.")
        )


def _checked(wanted: Wanted) -> dict[str, Any]:
    """The columns. Raises Refused with all that is wrong."""
    faults: dict[str, list[str]] = {}
    if not re.match(SLUG, wanted.name) or wanted.name == OWN:
        faults["name"] = [_("A name has one to 20 small letters and digits, begins with a letter, and is not 'my'.")]
    agents = tuple(dict.fromkeys(wanted.agents))
    unknown = [agent for agent in agents if agent not in registry.names()]
    if unknown or not agents:
        faults["agents"] = [_("Choose one or more of: {names}.").format(names=", ".join(registry.names()))]
    where = _address(wanted, faults) if wanted.kind is ServerKind.HTTP else _program(wanted, faults)
    _check_secrets(wanted, faults)
    if faults:
        raise Refused.of(faults)
    return {"name": wanted.name, "kind": wanted.kind, "agents": list(agents), **where}


def _address(wanted: Wanted, faults: dict[str, list[str]]) -> dict[str, Any]:
    try:
        url = canonical(wanted.url, allow_private=wanted.is_inner).url
    except BadAddress as fault:
        url, faults["url"] = "", [str(fault)]
    return {"url": url, "is_inner": wanted.is_inner, "command": "", "args": [], "folder": ""}


def _program(wanted: Wanted, faults: dict[str, list[str]]) -> dict[str, Any]:
    words = [clean_text(word) for word in wanted.args]
    if not wanted.command.strip() or any(character in wanted.command for character in "\n\0"):
        faults["command"] = [_("Say which program it is, such as python3.")]
    if wanted.folder and wanted.folder not in installed():
        there = ", ".join(installed()) or "nothing yet"
        faults["folder"] = [
            _("Nothing is installed under this name (installed: {there}). Run manage.py mcp_install.").format(
                there=there
            )
        ]
    return {"url": "", "is_inner": False, "command": wanted.command.strip(), "args": words, "folder": wanted.folder}


def _check_secrets(wanted: Wanted, faults: dict[str, list[str]]) -> None:
    form, what = (_HEADER, "header") if wanted.kind is ServerKind.HTTP else (_VARIABLE, "variable")
    for name, value in (wanted.secrets or {}).items():
        if not form.match(name) or name.lower() in _NOT_FREE:
            faults.setdefault("secrets", []).append(
                _("'{name}' cannot be the name of a {what}.").format(name=name[:40], what=what)
            )
        elif not value or len(value) > SECRET_CHARS or not value.isprintable():
            faults.setdefault("secrets", []).append(
                _("The value of '{name}' is empty, too long or not printable.").format(name=name[:40])
            )
        elif wanted.kind is ServerKind.HTTP and not value.isascii():
            # Such as a quotation mark that a word processor made, or dots that stand for the rest.
            faults.setdefault("secrets", []).append(
                _("The value of '{name}' has letters or signs that a header cannot have.").format(name=name[:40])
            )


def _opened(server: McpServer) -> dict[str, Any]:
    try:
        return opened(server.sealed)
    except Unreadable:
        return {}


def _kept_secrets(wanted: Wanted, before: Mapping[str, Any]) -> dict[str, Any]:
    """The sealed column, and the names that people see of it."""
    part = "headers" if wanted.kind is ServerKind.HTTP else "env"
    now = {**before} if wanted.secrets is None else {**before, part: dict(wanted.secrets)}
    return {"sealed": sealed(now), "secret_names": sorted(now.get(part, {}))}


def _stored(write: Callable[[], T], name: str) -> T:
    try:
        with transaction.atomic():
            return write()
    except IntegrityError:
        raise Conflict(
            "name_taken", _("There is a server called '{name}' already. Choose another name.").format(name=name)
        ) from None
