"""Open connections of a process: one for each server and run, kept while it is used and a little longer.

A connection belongs to the task that opened it, so each has one of its own. Runs do not share them: what a server
remembers of one person's calls is never told to another.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from agents.mcp.definitions import Definition
from agents.mcp.values import ServerConfig
from agents.runtime.driven import About

if TYPE_CHECKING:
    from mcp import Client

    from agents.mcp.connecting import Broken, Transports

IDLE_S: Final = 60.0
LISTING_HOLDS_S: Final = 30.0
_TOLD_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Listing:
    """The server's tools as it lists them, and why some of them are left out."""

    tools: tuple[Definition, ...]
    faults: tuple[str, ...] = ()


@dataclass
class Session:
    """One connection. `use` and `idle` by whoever calls; everything else is its own."""

    config: ServerConfig
    transports: "Transports"
    idle_s: float = IDLE_S
    client: "Client | None" = None
    _ready: "asyncio.Future[Client] | None" = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _users: int = 0
    _broke: "Broken | None" = None
    _idle_since: float = 0.0
    _listing: Listing | None = None
    _listed_at: float = 0.0
    _changes: int = 0
    _listing_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    task: "asyncio.Task[None] | None" = None

    def start(self) -> None:
        self._ready = asyncio.get_running_loop().create_future()
        # Nobody may be waiting any more when it fails.
        self._ready.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        self._idle_since = time.monotonic()
        self.task = asyncio.create_task(self._live(), name=f"mcp {self.config.name}")

    @property
    def is_over(self) -> bool:
        return self.task is None or self.task.done() or self._closing.is_set()

    def close(self) -> None:
        self._closing.set()

    async def listing(self) -> Listing:
        """As it is now, or was a moment ago. Raises NotConnected, Broken, Failed, and Forgotten as `use`."""
        from agents.mcp.connecting import definitions_of

        async with self._listing_lock:
            if self._listing is not None and time.monotonic() - self._listed_at <= LISTING_HOLDS_S:
                return self._listing
            changes = self._changes
            listing = Listing(*await self.use(definitions_of))
            # What changed while it was told may not be in it: whoever comes next asks again.
            self._listing = listing if self._changes == changes else None
            self._listed_at = time.monotonic()
        return listing

    async def use(self, ask: Callable[["Client"], Any]) -> Any:
        """Asks while the connection lives. Raises NotConnected where there is none, Broken where it ends meanwhile,
        Forgotten where the server knows it no longer: then it is of no more use."""
        from agents.mcp.connecting import Broken, Forgotten

        assert self._ready is not None
        assert self.task is not None
        self._users += 1
        try:
            client = await asyncio.shield(self._ready)
            asking = asyncio.ensure_future(ask(client))
            try:
                await asyncio.wait({asking, self.task}, return_when=asyncio.FIRST_COMPLETED)
                if asking.done():
                    return asking.result()
                raise Broken
            except Broken as broken:
                why = broken if str(broken) else await self._why() or broken
                raise Broken(why.ours, said=why.said) from broken
            except Forgotten:
                self.close()
                raise
            finally:
                if not asking.done():
                    asking.cancel()
                    await asyncio.gather(asking, return_exceptions=True)
        finally:
            self._users -= 1
            self._idle_since = time.monotonic()

    async def _why(self) -> "Broken | None":
        """Why the connection broke, if it did and that is told in a moment."""
        assert self.task is not None
        await asyncio.wait({self.task}, timeout=_TOLD_S)
        return self._broke

    def _forget_listing(self) -> None:
        self._changes += 1
        self._listing = None

    async def _live(self) -> None:
        """Opens, waits until nobody needs it any more, closes. All in this task."""
        from agents.mcp.connecting import Broken, NotConnected, connected

        assert self._ready is not None
        try:
            async with connected(self.config, self.transports, heard=self._forget_listing) as client:
                self._ready.set_result(client)
                try:
                    await self._not_needed()
                finally:
                    # To say goodbye takes a moment, and whoever comes then needs another connection.
                    self._closing.set()
        except NotConnected as error:
            self._fail(error)
        except Broken as broken:
            self._broke = broken
            self._fail(NotConnected(broken.ours or "The connection broke.", said=broken.said))
        finally:
            self._closing.set()
            self._fail(NotConnected("The connection could not be opened."))

    async def _not_needed(self) -> None:
        """Returns when it is to be closed, or nobody has used it for a while."""
        while self._users or time.monotonic() - self._idle_since < self.idle_s:
            try:
                async with asyncio.timeout(max(self.idle_s / 4, 0.05)):
                    await self._closing.wait()
                return
            except TimeoutError:
                continue

    def _fail(self, error: Exception) -> None:
        assert self._ready is not None
        if not self._ready.done():
            self._ready.set_exception(error)


class Sessions:
    """Of one process and loop."""

    def __init__(self, transports: "Callable[[About], Transports]", *, idle_s: float = IDLE_S) -> None:
        self._transports = transports
        self._idle_s = idle_s
        self._open: dict[tuple[str, UUID], Session] = {}

    def of(self, config: ServerConfig, about: About) -> Session:
        """The connection of this run to this server; opened, in the background, if there is none."""
        key = (config.key, about.execution_id)
        session = self._open.get(key)
        if session is None or session.is_over:
            session = self._open[key] = Session(config, self._transports(about), idle_s=self._idle_s)
            session.start()
            assert session.task is not None
            session.task.add_done_callback(lambda _: self._drop(key, session))
        return session

    def _drop(self, key: tuple[str, UUID], session: Session) -> None:
        if self._open.get(key) is session:
            del self._open[key]

    async def aclose(self) -> None:
        tasks = [session.task for session in self._open.values() if session.task is not None]
        for session in list(self._open.values()):
            session.close()
        await asyncio.gather(*tasks, return_exceptions=True)
