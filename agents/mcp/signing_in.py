"""A person's way through the sign-in of a server: out to its page in the browser, and back with a code.

The connection that asked for it is kept open meanwhile, by a thread of the process that the person began with; what
they bring back is left for it in the table, whichever process they come back to. Imports mcp: open this file late.
"""

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import structlog
from django.db import connections
from django.utils.translation import gettext as _
from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError

from agents.mcp import listing
from agents.mcp.connecting import NotConnected
from agents.mcp.models import McpServer, McpSignIn
from agents.mcp.oauth import provider_of
from agents.mcp.probing import listed
from agents.mcp.reading import bare_config, config_of
from agents.mcp.sealing import opened, sealed
from agents.mcp.values import ServerConfig
from agents.mcp.ways import ways_of
from hyperagent.accounts.models import User
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.refusals import Conflict, NotThere
from hyperagent.lib.secrets import Unreadable
from hyperagent.lib.stored_faults import fault_in_our_words
from hyperagent.lib.threads import in_thread

log = structlog.get_logger(__name__)

PERSON_S: Final = 300.0
ADDRESS_S: Final = 30.0
LOOK_EVERY_S: Final = 0.5


@dataclass
class _Way:
    """What the thread tells whoever began it. `state`: the word that its row is known by; empty before it has one."""

    state: str = ""
    address: str = ""
    told: threading.Event = field(default_factory=threading.Event)


def begin(user: User, server: McpServer) -> str:
    """The address that the person has to open in their browser; empty where the server let us in without it.

    Waits some seconds for it. Raises Conflict with what went wrong.
    """
    config, way = _config_of(server), _Way()
    threading.Thread(target=_follow, args=(config, user.pk, way), name="mcp sign-in", daemon=True).start()
    way.told.wait(ADDRESS_S)
    if way.address:
        return way.address
    server.refresh_from_db()
    if server.state == "connected":
        return ""
    told = fault_in_our_words(server.last_error)
    raise Conflict("no_sign_in", told or _("The server does not say where to sign in."))


def come_back(user: User, *, state: str, code: str, issuer: str) -> McpSignIn:
    """Leaves the code for the thread that waits; without one, that there will be none. Raises NotThere for a way that
    this person is not on."""
    found = McpSignIn.objects.filter(user=user, state=state, is_over=False, code_sealed="").first()
    if found is None:
        raise NotThere
    brought = {"code_sealed": sealed({"code": code, "issuer": issuer})} if code else {"is_over": True}
    McpSignIn.objects.filter(id=found.id, code_sealed="").update(**brought)
    return found


def wait_for_end(way: McpSignIn, *, limit_s: float = ADDRESS_S) -> None:
    """Until the thread has made of the code what it could, or for so long."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until and McpSignIn.objects.filter(id=way.id, is_over=False).exists():
        time.sleep(LOOK_EVERY_S)


def _config_of(server: McpServer) -> ServerConfig:
    """Where its secrets cannot be read any more, signing in anew is the way out."""
    try:
        return config_of(server)
    except Unreadable:
        return bare_config(server)


def _follow(config: ServerConfig, user_id: UUID, way: _Way) -> None:
    try:
        asyncio.run(_connect(config, user_id, way))
    except Exception:
        log.exception("mcp.sign_in_failed", server=config.name)
    finally:
        way.told.set()
        McpSignIn.objects.filter(state=way.state).update(is_over=True)
        connections.close_all()


async def _connect(config: ServerConfig, user_id: UUID, way: _Way) -> None:
    """Connects, and lists the tools with what the person brought."""

    async def shown(address: str) -> None:
        try:
            address = canonical(address, allow_private=config.is_inner).url
        except BadAddress as fault:
            raise OAuthFlowError(str(fault)) from None
        way.state = parse_qs(urlsplit(address).query).get("state", [""])[0]
        await in_thread(_noted)(config.server_id, user_id, way.state)
        way.address = address
        way.told.set()

    async def came_back() -> AuthorizationCodeResult:
        async with asyncio.timeout(PERSON_S):
            while True:
                brought = await in_thread(_brought)(way.state)
                if brought:
                    issuer = brought.get("issuer") or None
                    return AuthorizationCodeResult(code=brought["code"], state=way.state, iss=issuer)
                await asyncio.sleep(LOOK_EVERY_S)

    ways = ways_of(user_id, signed_in=lambda one: provider_of(one, shown=shown, came_back=came_back))
    try:
        found = await listed(config, ways, limit_s=PERSON_S + ADDRESS_S)
    except NotConnected as error:
        await in_thread(_failed)(config, way.state, error.message)
    else:
        await in_thread(listing.keep)(config, found)


def _noted(server_id: UUID, user_id: UUID, state: str) -> None:
    """Of the ways of this person to this server the newest counts."""
    McpSignIn.objects.filter(server_id=server_id, user_id=user_id).delete()
    McpSignIn.objects.create(server_id=server_id, user_id=user_id, state=state)


def _failed(config: ServerConfig, state: str, message: str) -> None:
    """What became of a way that is not the newest to this server says nothing of how the server stands."""
    newest = McpSignIn.objects.filter(server_id=config.server_id).first()
    if not state or (newest is not None and newest.state == state):
        listing.keep_failure(config, message, needs_sign_in=True)


def _brought(state: str) -> dict[str, str]:
    found = McpSignIn.objects.filter(state=state).first()
    if found is None:
        raise OAuthFlowError("signed in anew meanwhile")
    if found.is_over:
        raise OAuthFlowError("came back without leave")
    return opened(found.code_sealed)
