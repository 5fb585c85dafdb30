"""The provider `Connections`: the tools of connected servers for runs. Looks in the tables, calls, and tells in words.

Decides nothing about a call: the gateway has done so. What it holds to is what somebody reviewed: a tool whose server
describes it otherwise by now is not called.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import structlog

from agents.engine.events import Image
from agents.mcp import listing, reading
from agents.mcp.results import Answered, Picture, answered
from agents.mcp.sealing import LOST
from agents.mcp.sessions import Sessions
from agents.mcp.values import Offered, ServerConfig
from agents.runtime.driven import About
from agents.runtime.lacking import Lack
from agents.runtime.lookups import Lookups
from agents.tools.clip import clip
from agents.tools.tool import Call, Reply, ToolError
from agents.tools.untrusted import marked_untrusted
from hyperagent.lib.secrets import Unreadable
from hyperagent.lib.text import clean_text
from hyperagent.lib.threads import in_thread

if TYPE_CHECKING:
    from agents.mcp.connecting import Transports

log = structlog.get_logger(__name__)

SAID_CHARS: Final = 1_200
REVIEWED_ANEW: Final = (
    "{called} cannot be called any more: it was switched off or reviewed anew since this began. Do without it."
)
CHANGED: Final = (
    "{called} was not called: its server describes it otherwise than when it was reviewed. It stays off until somebody "
    "has looked at it on the page of MCP servers. Do without it, and say so."
)
BROKEN: Final = "The server '{server}' gave no answer that can be used. {why} What it did is not known."


class ConnectedServers:
    """One of a process. `sessions`: of its loop."""

    def __init__(self, sessions: Sessions | None = None) -> None:
        self._sessions = sessions or Sessions(_transports)

    async def offered(self, about: About, lookups: Lookups | None) -> dict[str, list[Offered]]:
        """By agent, in the order of their names. Every turn asks: most have none, which the run's lookups tell."""
        if lookups is not None:
            if Lack.SERVERS in lookups.lacks:
                return {}
            if not await lookups.read(lambda connection: reading.has_any(connection, about.user_id)):
                return {}
        return await in_thread(reading.offered_to)(about.user_id)

    async def call(self, call: Call, offered: Offered, arguments: dict[str, Any]) -> Reply:
        """Raises ToolError for what could not be done."""
        await asyncio.to_thread(_load)
        from agents.mcp.connecting import Forgotten  # a second of import

        config = await _callable(call.about, offered)
        try:
            result = await self._result(call, config, offered, arguments)
        except Forgotten:
            # Once, over another connection: one that forgets each of them is of no use.
            try:
                result = await self._result(call, config, offered, arguments)
            except Forgotten as error:
                why = _told(offered, "It forgets its sessions at once.", error.said)
                raise ToolError(f"The server '{config.name}' cannot be reached. {why}") from error
        found = answered(result.model_dump(mode="json", by_alias=True, exclude_none=True))
        if found.failed:
            raise ToolError(_failure(offered, found.text))
        return await _reply(call, offered, found)

    async def aclose(self) -> None:
        await self._sessions.aclose()

    async def _result(self, call: Call, config: ServerConfig, offered: Offered, arguments: dict[str, Any]) -> Any:
        """What the server answers over the connection that there is, or one that is opened. Raises ToolError, and
        Forgotten where nothing was begun."""
        from agents.mcp.connecting import Broken, Failed, Forgotten, NotConnected, called

        session = self._sessions.of(config, call.about)
        try:
            await self._look(session, config, offered)
        except NotConnected as error:
            if error.needs_sign_in:
                await in_thread(listing.keep_failure)(config, error.message, needs_sign_in=True)
            why = _told(offered, error.ours, error.said)
            raise ToolError(f"The server '{config.name}' cannot be reached. {why}") from error
        except Forgotten:
            raise
        except (Broken, Failed) as error:
            raise ToolError(f"The server '{config.name}' does not say what tools it has.") from error
        if call.key:
            await call.touching()
        try:
            return await session.use(lambda client: called(client, offered.name, arguments, key=call.key))
        except Forgotten:
            raise
        except Failed as error:
            raise ToolError(_failure(offered, error.said), may_have_happened=not error.did_nothing) from error
        except (Broken, NotConnected) as error:
            why = _told(offered, error.ours or "The connection broke.", error.said)
            raise ToolError(BROKEN.format(server=config.name, why=why), may_have_happened=True) from error

    async def _look(self, session: Any, config: ServerConfig, offered: Offered) -> None:
        """Whether the server still describes the tool as it was reviewed. What it says now is kept for the reviewer."""
        now = await session.listing()
        if any(one.name == offered.name and one.pin == offered.pin for one in now.tools):
            return
        await in_thread(listing.keep)(config, now)
        log.warning("mcp.tool_changed", server=config.name, tool=offered.called)
        raise ToolError(CHANGED.format(called=offered.called))


async def _callable(about: About, offered: Offered) -> ServerConfig:
    try:
        config = await in_thread(reading.callable_config)(offered, about.user_id)
    except Unreadable as error:
        raise ToolError(LOST) from error
    if config is None:
        raise ToolError(REVIEWED_ANEW.format(called=offered.called))
    return config


def _failure(offered: Offered, said: str) -> str:
    said = said or "It said nothing about why."
    return _told(offered, f"The server '{offered.server}' says that it failed.", said)


def _told(offered: Offered, ours: str, said: str) -> str:
    """A sentence of ours, and what a stranger said besides, as such."""
    text = clip(clean_text(said), SAID_CHARS)
    return f"{ours.rstrip('.')}:\n{marked_untrusted(text, source=offered.called)}" if text else ours


async def _reply(call: Call, offered: Offered, found: Answered) -> Reply:
    notes = [await _kept(call, offered, picture) for picture in found.pictures]
    text = "\n\n".join(filter(None, [found.text, *notes])) or "The server answered with nothing."
    return Reply(content=text, data=None if found.structured is None else {"structured": found.structured})


async def _kept(call: Call, offered: Offered, picture: Picture) -> str:
    """Stored in the workspace, where people see it; the words for the model."""
    path = f"mcp/{offered.server}/{uuid4().hex[:12]}.{picture.ending}"
    try:
        stored = await call.providers.workspace.write_bytes(
            call.about, path, picture.content, media_type=picture.media_type, scope="conversation"
        )
    except ToolError as error:
        return f"[A picture came, and could not be kept: {error.message}]"
    call.emit(Image(path=stored.path, alt=f"From {offered.called}"))
    return f"[A picture was stored as {stored.path}; the user sees it.]"


def _load() -> None:
    """Loads the library, in a thread: on the loop every run of the process would stand still meanwhile, and where the
    machine is busy for longer than their leases last."""
    import agents.mcp.connecting
    import agents.mcp.ways  # noqa: F401


def _transports(about: About) -> "Transports":
    from agents.mcp.ways import ways_of

    return ways_of(about.user_id)
