"""Opens a server: at an address through the guarded door, or as a program in a box. Imports mcp, which takes a second:
open this file late.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import mcp_types
from mcp import Client
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from agents.mcp.definitions import BadDefinition, Definition, definition, visible
from agents.mcp.programs import ProgramEnded, with_said
from agents.mcp.values import ServerConfig
from agents.sandbox.base import SandboxError
from hyperagent.lib.outside.http_client import (
    Auth,
    GuardedTransport,
    HttpError,
    HttpTimeout,
    guarded_http_client,
    host_asked,
)

CONNECT_S: Final = 25.0
SILENCE_S: Final = 300.0
MAX_BYTES: Final = 16 << 20
# The library reads on our loop: 900,000 values took it 12 s.
MAX_VALUES: Final = 100_000
MOST_LISTED: Final = 300
# Of all that a server says of its tools: to look at 14,000 characters of schema takes 70 ms.
LISTED_CHARS: Final = 500_000
_MOST_PAGES: Final = 20
_SAID_CHARS: Final = 300
_TOO_MANY: Final = f"It has more tools than the {MOST_LISTED} that are looked at."
_TOO_LONG: Final = f"It describes its tools in more than the {LISTED_CHARS:,} characters that are looked at."
_NOT_FOUND: Final = 404
_SESSION_HEADER: Final = "mcp-session-id"
_NOT_BEGUN: Final = (mcp_types.METHOD_NOT_FOUND, mcp_types.INVALID_PARAMS, mcp_types.HEADER_MISMATCH)
NEEDS_SIGN_IN: Final = "The server wants to know who you are. Sign in to it, or enter the header that it expects."


class NotConnected(Exception):
    """There is no connection; the message is for people. `ours`: of it what is our own sentence; `said`: what a
    stranger said besides, which a model gets as such. `needs_sign_in`: the server asked who we are."""

    def __init__(self, ours: str, *, said: str = "", needs_sign_in: bool = False) -> None:
        self.message = with_said(ours, said)
        super().__init__(self.message)
        self.ours = ours
        self.said = said
        self.needs_sign_in = needs_sign_in


class Broken(Exception):
    """A connection that was there ended, or what came is no answer: nobody knows what the call did. The message is for
    people, or empty; `ours` and `said` as above."""

    def __init__(self, ours: str = "", *, said: str = "") -> None:
        super().__init__(with_said(ours, said))
        self.ours = ours
        self.said = said


class Failed(Exception):
    """The server refused, in words of its own, which are a stranger's. `did_nothing`: it did not even begin."""

    def __init__(self, said: str, *, did_nothing: bool) -> None:
        super().__init__(said)
        self.said = said
        self.did_nothing = did_nothing


class Forgotten(Failed):
    """The server knows the session no longer, as one that was started anew: nothing was begun, and by the protocol the
    same is to be asked over another connection."""

    def __init__(self, said: str) -> None:
        super().__init__(said, did_nothing=True)


class Transports(Protocol):
    """How a process reaches programs, and what signs in."""

    def program(self, config: ServerConfig) -> Any:
        """An async context manager that gives the program's two message streams."""

    def auth(self, config: ServerConfig) -> Auth | None: ...


@asynccontextmanager
async def connected(
    config: ServerConfig,
    transports: Transports,
    *,
    heard: Callable[[], None] = lambda: None,
    limit_s: float = CONNECT_S,
) -> AsyncIterator[Client]:
    """A client that has shaken hands, within `limit_s`. `heard`: called when the server says that its tools changed.

    To be left by the task that entered it. Raises NotConnected; what ends an open connection comes out as Broken.
    """
    opened, watched = False, _Watched()
    try:
        async with _transport(config, transports, watched) as transport:
            client = Client(
                transport,
                mode="auto",
                read_timeout_seconds=SILENCE_S,
                cache=None,
                client_info=mcp_types.Implementation(name="HyperAgent", version="1"),
                message_handler=_hearing(heard),
            )
            async with asyncio.timeout(limit_s) as limit, client:
                limit.reschedule(None)
                opened = True
                yield client
    except GeneratorExit:
        raise
    except Exception as error:
        if opened:
            told = next(filter(None, (_told(one, config) for one in _causes(error))), None)
            raise (Broken(told.ours, said=told.said) if told else Broken()) from error
        raise _not_connected(error, config, watched) from error


async def definitions_of(client: Client) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    """The server's tools as it lists them now, in the order of their names; and why some of them are left out.

    Raises Broken, and Failed.
    """
    listed = _Listed()
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await _asked(client.list_tools(cursor=cursor))
        # Seconds for what is at the bounds, in which other runs go on.
        await asyncio.to_thread(listed.take, page.tools)
        cursor = page.next_cursor
        if cursor is None or listed.too_much:
            break
    if cursor is not None and not listed.too_much:
        listed.too_much = _TOO_MANY
    faults = [*listed.faults[: MOST_LISTED - 1], *([listed.too_much] if listed.too_much else [])]
    return tuple(sorted(listed.found.values(), key=lambda one: one.name)), tuple(faults)


async def called(client: Client, name: str, arguments: dict[str, Any], *, key: str) -> mcp_types.CallToolResult:
    """One call. `key`: of an effect, handed on. Raises Failed and Broken.

    Not by `Client.call_tool`: that holds the result against the schema that the server gives for it, with whatever
    patterns stand there. A result is text to us, and believed by nobody.
    """
    meta: Any = {"io.hyperagent/idempotency-key": key} if key else None
    params = mcp_types.CallToolRequestParams(name=name, arguments=arguments, _meta=meta)
    request = mcp_types.CallToolRequest(params=params)
    result: mcp_types.CallToolResult = await _asked(client.session.send_request(request, mcp_types.CallToolResult))
    return result


async def _asked(answer: Any) -> Any:
    asking = _Asking()
    token = _ASKING.set(asking)
    try:
        return await answer
    except MCPError as error:
        # First: -32001, with which servers say it, is the library's own code for a silence.
        if asking.is_forgotten and error.code not in _NOT_BEGUN:
            raise Forgotten(visible(error.message)[:_SAID_CHARS]) from error
        if error.code in (mcp_types.CONNECTION_CLOSED, mcp_types.REQUEST_TIMEOUT, mcp_types.PARSE_ERROR):
            raise Broken from error
        raise Failed(visible(error.message)[:_SAID_CHARS], did_nothing=error.code in _NOT_BEGUN) from error
    except (ValueError, RuntimeError, OSError, HttpError) as error:
        # What came back is no answer by the protocol, whatever the server had done by then.
        raise Broken("What it answered is no answer by the protocol.") from error
    finally:
        _ASKING.reset(token)


@dataclass(slots=True)
class _Asking:
    """One request, as its answer's status is seen: the library tells the words only, which are the server's own."""

    is_forgotten: bool = False


_ASKING: Final[ContextVar[_Asking | None]] = ContextVar("mcp_asking", default=None)


async def _note_forgotten(response: Any) -> None:
    """Of a request within a session a 404 says that there is no such session."""
    asking = _ASKING.get()
    if asking is not None and response.status_code == _NOT_FOUND and _SESSION_HEADER in response.request.headers:
        asking.is_forgotten = True


class _Listed:
    """What is taken of the pages of a server's list. `too_much`: why there is no more, if there would be."""

    def __init__(self) -> None:
        self.found: dict[str, Definition] = {}
        self.faults: list[str] = []
        self.too_much = ""
        self._looked_at = 0
        self._chars = 0

    def take(self, tools: Sequence[mcp_types.Tool]) -> None:
        for tool in tools:
            self._looked_at += 1
            self._chars += len(tool.description or "") + len(json.dumps(tool.input_schema))
            if self._looked_at > MOST_LISTED:
                self.too_much = _TOO_MANY
            elif self._chars > LISTED_CHARS:
                self.too_much = _TOO_LONG
            if self.too_much:
                return
            try:
                self._take(_definition(tool))
            except BadDefinition as fault:
                self.faults.append(str(fault))

    def _take(self, one: Definition) -> None:
        if one.name in self.found:
            raise BadDefinition(f"There are two tools called '{one.name}'.")
        self.found[one.name] = one


class _Watched:
    transport: GuardedTransport | None = None

    @property
    def last_status(self) -> int:
        return self.transport.last_status if self.transport else 0


@asynccontextmanager
async def _transport(config: ServerConfig, transports: Transports, watched: _Watched) -> AsyncIterator[Any]:
    if config.kind == "stdio":
        yield transports.program(config)
        return
    client, watched.transport = guarded_http_client(
        allow_private=config.is_inner,
        max_bytes=MAX_BYTES,
        max_values=MAX_VALUES,
        read_timeout_s=SILENCE_S,
        headers=config.headers,
        auth=transports.auth(config),
    )
    client.event_hooks["response"].append(_note_forgotten)
    async with client:
        yield streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_BYTES)


def _hearing(heard: Callable[[], None]) -> Any:
    async def handle(message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            heard()

    return handle


def _definition(tool: mcp_types.Tool) -> Definition:
    hints = tool.annotations
    return definition(
        tool.name,
        title=tool.title or (hints.title if hints else None),
        description=tool.description,
        parameters=tool.input_schema,
        read_only=hints.read_only_hint if hints else None,
        destructive=hints.destructive_hint if hints else None,
    )


def _not_connected(error: Exception, config: ServerConfig, watched: _Watched) -> NotConnected:
    causes = _causes(error)
    if watched.last_status in (401, 403) or any(isinstance(one, OAuthFlowError) for one in causes):
        return NotConnected(NEEDS_SIGN_IN, needs_sign_in=True)
    told = next(filter(None, (_told(one, config) for one in causes)), None)
    if told is not None:
        return told
    if watched.last_status >= 400:
        return NotConnected(f"'{config.name}' answered with the status {watched.last_status}: is the address right?")
    return NotConnected(f"'{config.name}' does not answer as a server of the Model Context Protocol.")


def _told(error: BaseException, config: ServerConfig) -> NotConnected | None:
    """What this error says to people; None if nothing."""
    match error:
        case NotConnected():
            return error
        case SandboxError():
            ours, said = (error.ours, error.said) if isinstance(error, ProgramEnded) else (error.message, "")
            return NotConnected(ours, said=said)
        case OAuthRegistrationError() | OAuthTokenError():
            said = visible(str(error))[:_SAID_CHARS]
            return NotConnected("Signing in did not work.", said=said, needs_sign_in=True)
        case TimeoutError() | HttpTimeout():
            return NotConnected(f"'{config.name}' did not answer in time.")
        case HttpError() if str(error):
            return _without_way(visible(str(error))[:_SAID_CHARS], config, host_asked(error))
    return None


def _without_way(said: str, config: ServerConfig, host: str) -> NotConnected:
    """Another host than its own, such as that of its sign-in, the server has named: that is what a stranger said."""
    if host == urlsplit(config.url).hostname:
        return NotConnected(said)
    return NotConnected(f"'{config.name}' leads to another server, which cannot be reached.", said=said)


def _causes(error: BaseException) -> Sequence[BaseException]:
    """The errors in a group, and what they came from."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for one in error.exceptions for cause in _causes(one)]
    return [error, *(_causes(error.__cause__) if error.__cause__ else ())]
