"""The boxes that live on this machine, each with its session (S202, S203): opened, shared, used, snapshotted, closed.

Knows no connection: who speaks for whom is the server's business. Rows and storage are written in threads.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

import structlog
from django.db import DatabaseError

from agents.browser.proxy import WebDoor
from agents.sandbox import records, snapshots
from agents.sandbox.base import Box, BoxSpec, BoxType, SandboxError, SandboxProvider
from agents.sandbox.comparing import VERSION_OF
from agents.sandbox.host.gateway_door import GatewayDoor
from agents.sandbox.models import CloseWanted, EndedBecause
from agents.sandbox.records import Owner
from agents.sandbox.specs import GATEWAY, WEB, spec_of
from hyperagent.lib.outage import StorageAway
from hyperagent.lib.threads import in_thread

log = structlog.get_logger(__name__)

OPENING_S: Final = 60.0
_LATE_S: Final = 600.0
MOVING_S: Final = 10.0
_MOVING_LOOK_S: Final = 0.25

FULL: Final = "All {limit} sandboxes {whose} are at work. Wait until a running program has ended, then try again."
NO_DATABASE: Final = "The sandbox cannot be opened while the database is away. Try again in a minute."
GONE_USER: Final = "The user of this run may not work here any more."
USED_UP: Final = (
    "The {limit_s:,} seconds of sandbox time that a user has within 24 hours are used up. Go on without running code; "
    "an administrator can raise SANDBOX_SECONDS_PER_DAY."
)
RESTORED: Final = "The sandbox was opened anew; what lay in its folders was put back, programs that still ran are gone."
NOT_KEPT: Final = "{why} The sandbox was opened anew, without what lay in the folders of the one before."
OLDER_RESTORED: Final = (
    "{why} The sandbox was opened anew; of what lay in its folders what is older was put back, programs that still ran "
    "are gone."
)
NOT_RESTORED: Final = "The sandbox was opened anew, and what lay in the one before could not be put back: {why}"


@dataclass(frozen=True, slots=True)
class Terms:
    """What an installation allows. `seconds_per_day`: of running programs, for each user; 0: no limit.
    `browsers_reach`: `host:port` of its own networks that browsers may open beside the web; none, outside of tests."""

    idle_s: float = 1800
    boxes: int = 20
    boxes_per_user: int = 5
    seconds_per_day: int = 0
    snapshot_max_bytes: int = 100_000_000
    checkpoint_after_s: float = 120
    browsers_reach: tuple[str, ...] = ()


@dataclass(eq=False)
class Session:
    """One living box. `busy`: calls that are at work in it, and holds. `held`: by which names it is held.
    `said_at`: when something was last said over a connection into it, which is no call. `changed`: since the last
    snapshot was begun. `is_unkept`: what that was to keep, it has not; that is tried again once something changes, and
    at the box's end. `is_live`: a program was started that goes on by itself, and nobody tells what it writes.
    `remembered`: what its callers left here."""

    id: UUID
    owner: Owner
    box: Box
    door: GatewayDoor
    web: WebDoor | None
    folder: "tempfile.TemporaryDirectory[str]"
    note: str = ""
    busy: int = 0
    held: list[str] = field(default_factory=list)
    changed: bool = False
    is_unkept: bool = False
    is_live: bool = False
    used_at: float = field(default_factory=time.monotonic)
    said_at: float = float("-inf")
    remembered: dict[str, Any] = field(default_factory=dict)

    @property
    def idle_s(self) -> float:
        return 0.0 if self.busy else time.monotonic() - max(self.used_at, self.said_at)

    @property
    def uncalled_s(self) -> float:
        """Whoever speaks with an app without a pause holds no snapshot off."""
        return 0.0 if self.busy else time.monotonic() - self.used_at


class Sessions:
    """`host`: names this machine and installation in the rows. `folder`: private, for the sockets of the doors."""

    def __init__(self, provider: SandboxProvider, *, terms: Terms, host: str, folder: Path) -> None:
        self.provider = provider
        self.terms = terms
        self.host = host
        self.folder = folder
        self._open: dict[str, Session] = {}
        self._unended: list[Box] = []
        self.is_any_open = asyncio.Event()
        """Or was, and could not be ended yet."""
        self._opening: set[Owner] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tended: dict[str, asyncio.Task[None]] = {}
        self._late: set[asyncio.Task[None]] = set()
        self._packing = asyncio.Semaphore(2)

    # --- S203

    async def get_or_create_runtime(self, owner: Owner, *, counts: bool = True) -> tuple[Session, bool]:
        """The session of this user and task, and whether it is new. `counts`: whether their seconds must not be used
        up. Raises SandboxError."""
        async with self._lock(owner):
            session = await self._living(owner)
            if session is not None:
                session.used_at = time.monotonic()
                return session, False
            if counts:
                await self.seconds_left(owner)
            return await self._opened(owner), True

    async def get_code_executor(
        self, user_id: UUID | None, task_id: UUID, *, counts: bool = True
    ) -> tuple[Session, bool]:
        return await self.get_or_create_runtime(Owner(user_id, task_id), counts=counts)

    async def get_app_session(
        self, user_id: UUID | None, task_id: UUID, *, counts: bool = True
    ) -> tuple[Session, bool]:
        """The same box as the code executor's."""
        return await self.get_or_create_runtime(Owner(user_id, task_id, BoxType.APP), counts=counts)

    async def get_desktop(self, user_id: UUID | None, task_id: UUID, *, counts: bool = True) -> tuple[Session, bool]:
        return await self.get_or_create_runtime(Owner(user_id, task_id, BoxType.DESKTOP), counts=counts)

    async def existing(self, owner: Owner) -> Session | None:
        async with self._lock(owner):
            return await self._living(owner)

    def by_id(self, session_id: UUID) -> Session | None:
        return next((session for session in self._open.values() if session.id == session_id), None)

    # --- use

    @asynccontextmanager
    async def using(self, session: Session) -> AsyncIterator[None]:
        session.busy += 1
        try:
            yield
        finally:
            session.busy -= 1
            session.used_at = time.monotonic()

    async def seconds_left(self, owner: Owner) -> float:
        """What programs of this user may still run today, in seconds. Raises SandboxError where nothing is left."""
        limit = self.terms.seconds_per_day
        if not limit or owner.user_id is None:
            return float("inf")
        left = limit - await in_thread(records.used_today_s)(owner.user_id)
        if left <= 0:
            raise SandboxError(USED_UP.format(limit_s=limit))
        return left

    async def note_use(self, session: Session, seconds: float) -> None:
        try:
            await in_thread(records.note_use)(session.id, seconds=seconds)
        except DatabaseError as error:
            log.warning("sandbox.use_not_noted", key=session.owner.key, why=str(error))

    # --- ends

    async def close(self, session: Session, because: EndedBecause, *, keeps: bool = True) -> None:
        """With a snapshot first, unless what lies in it is to be forgotten. Again: nothing."""
        async with self._lock(session.owner):
            await self._close(session, because, keeps=keeps)

    async def close_all(self, *, within_s: float) -> None:
        """When the host stops: all at once, and whatever is not kept in time is lost."""
        for tending in list(self._tended.values()):
            tending.cancel()
        await asyncio.gather(*self._tended.values(), return_exceptions=True)
        closing = [asyncio.ensure_future(self.close(one, EndedBecause.DRAINED)) for one in list(self._open.values())]
        if not closing:
            return
        _, late = await asyncio.wait(closing, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        for session in list(self._open.values()):
            await self._close(session, EndedBecause.LOST, keeps=False)

    async def tend(self) -> None:
        """Done every few seconds: what others want, what nobody uses, what died, what is not snapshotted yet."""
        if self._open:
            await self._fulfil_wishes()
        # Beside the rounds: a snapshot may take long, and who is deactivated must not wait for it.
        for session in list(self._open.values()):
            self._go_beside(session.owner.key, partial(self._tend, session))
        for box in list(self._unended):
            self._go_beside(f"unended {id(box)}", partial(self._end, box))

    # --- inside

    def _lock(self, owner: Owner) -> asyncio.Lock:
        """Of one box there is or will be; it lasts as long as somebody holds it or waits for it."""
        lock = self._locks.get(owner.key)
        if lock is None:
            lock = self._locks[owner.key] = asyncio.Lock()
        return lock

    def _go_beside(self, name: str, doing: Callable[[], Awaitable[None]]) -> None:
        if name not in self._tended:
            self._tended[name] = asyncio.ensure_future(self._beside(name, doing))

    async def _beside(self, name: str, doing: Callable[[], Awaitable[None]]) -> None:
        try:
            await doing()
        except Exception:
            # Whatever one box did, the others are tended, and this one in the next round.
            log.exception("sandbox.tending_failed", key=name)
        finally:
            del self._tended[name]

    async def _tend(self, session: Session) -> None:
        if not session.box.alive:
            await self.close(session, EndedBecause.LOST, keeps=False)
        elif session.idle_s >= self.terms.idle_s:
            await self.close(session, EndedBecause.IDLE)
        elif session.changed and session.uncalled_s >= self.terms.checkpoint_after_s:
            async with self._lock(session.owner):
                await self._snapshot(session)

    async def _living(self, owner: Owner) -> Session | None:
        session = self._open.get(owner.key)
        if session is None or session.box.alive:
            return session
        await self._close(session, EndedBecause.LOST, keeps=False)
        return None

    async def _opened(self, owner: Owner) -> Session:
        await _refuse_gone(owner)
        await self._make_room(owner)
        self._opening.add(owner)
        try:
            row_id = await self._row(owner)
            try:
                session = await self._boxed(owner, row_id)
            except BaseException as error:
                await in_thread(records.end_row)(row_id, EndedBecause.LOST, note=str(error)[:500])
                raise
        except DatabaseError as error:
            raise SandboxError(NO_DATABASE) from error
        finally:
            self._opening.discard(owner)
        self._open[owner.key] = session
        self._note_what_is_open()
        return session

    async def _boxed(self, owner: Owner, row_id: UUID) -> Session:
        folder = tempfile.TemporaryDirectory(dir=self.folder, prefix="box-", ignore_cleanup_errors=True)
        door, web = self._doors(owner, Path(folder.name))
        try:
            await door.open()
            doors = {GATEWAY: door.path}
            if web is not None:
                await web.open()
                doors = {WEB: web.path}
            box = await self._box_in_time(spec_of(owner, doors=doors))
            session = Session(row_id, owner, box, door, web, folder)
            try:
                session.note = await self._restored(session)
            except BaseException:
                await self._end(box)
                raise
        except BaseException:
            await door.close()
            if web is not None:
                await web.close()
            await asyncio.to_thread(folder.cleanup)
            raise
        return session

    async def _box_in_time(self, spec: BoxSpec) -> Box:
        opening = asyncio.ensure_future(self.provider.open(spec))
        try:
            await asyncio.wait([opening], timeout=OPENING_S)
            if opening.done():
                return opening.result()
        except asyncio.CancelledError:
            self._end_late(opening)
            raise
        self._end_late(opening)
        raise SandboxError(f"The sandbox did not open within {OPENING_S:g} s. Try again.")

    def _end_late(self, opening: "asyncio.Future[Box]") -> None:
        """Nobody takes back what an engine was asked for: of a box for which nobody waits the end is waited for."""

        async def ended() -> None:
            with suppress(SandboxError, TimeoutError):
                async with asyncio.timeout(_LATE_S):
                    box = await opening
                await self._end(box)

        late = asyncio.ensure_future(ended())
        self._late.add(late)
        late.add_done_callback(self._late.discard)

    async def _end(self, box: Box) -> None:
        """One that cannot be ended now is, later on: what it is made of would stay, and count as nobody's."""
        try:
            await box.close()
        except SandboxError as error:
            log.warning("sandbox.not_closed", key=box.key, why=error.message)
            if box not in self._unended:
                self._unended.append(box)
        else:
            self._unended = [one for one in self._unended if one is not box]
        self._note_what_is_open()

    def _note_what_is_open(self) -> None:
        if self._open or self._unended:
            self.is_any_open.set()
        else:
            self.is_any_open.clear()

    def _doors(self, owner: Owner, folder: Path) -> tuple[GatewayDoor, WebDoor | None]:
        """Programs of a desktop see its door to the web only."""
        door = GatewayDoor(folder / f"{GATEWAY}.sock")
        if owner.kept_as is not BoxType.DESKTOP:
            return door, None
        return door, WebDoor(folder / f"{WEB}.sock", private=self.terms.browsers_reach)

    async def _row(self, owner: Owner) -> UUID:
        """Waits for another machine to give the box up, but not for long."""
        until = time.monotonic() + MOVING_S
        while True:
            row_id = await in_thread(records.open_row)(owner, provider=self.provider.name, host=self.host)
            if row_id is not None:
                return row_id
            # Of somebody who is deleted there can be no row.
            await _refuse_gone(owner)
            if time.monotonic() > until:
                await in_thread(records.give_up_row)(owner)
            await asyncio.sleep(_MOVING_LOOK_S)

    async def _make_room(self, owner: Owner) -> None:
        """Closes what was not used for the longest time; raises SandboxError where all are at work."""
        own = [one for one in self._open.values() if one.owner.user_id == owner.user_id]
        opening = [one for one in self._opening if one.user_id == owner.user_id]
        if owner.user_id is not None and len(own) + len(opening) >= self.terms.boxes_per_user:
            await self._close_oldest(own, FULL.format(limit=self.terms.boxes_per_user, whose="of this user"))
        if len(self._open) + len(self._opening) >= self.terms.boxes:
            await self._close_oldest(self._open.values(), FULL.format(limit=self.terms.boxes, whose="of this machine"))

    async def _close_oldest(self, sessions: Any, why_not: str) -> None:
        idle = [one for one in sessions if not one.busy and not self._lock(one.owner).locked()]
        if not idle:
            raise SandboxError(why_not)
        await self.close(max(idle, key=lambda one: one.idle_s), EndedBecause.ROOM)

    async def _fulfil_wishes(self) -> None:
        """One after the other, in the order of the wishes: S203 wants desktops closed last."""
        try:
            wishes = await in_thread(records.wishes)([session.id for session in self._open.values()])
        except DatabaseError as error:
            log.warning("sandbox.wishes_unknown", why=str(error))
            return
        for wish in wishes:
            session = self.by_id(wish.session_id)
            if session is None:
                continue
            if wish.is_orphan or wish.close_wanted == CloseWanted.REMOVE:
                await self.close(session, EndedBecause.REMOVED, keeps=False)
                await in_thread(snapshots.forget)(session.owner)
            elif not session.busy:
                await self.close(session, EndedBecause.MOVED)

    async def _close(self, session: Session, because: EndedBecause, *, keeps: bool) -> None:
        if self._open.get(session.owner.key) is not session:
            return
        note = await self._snapshot(session) if keeps and session.box.alive else ""
        del self._open[session.owner.key]
        await self._end(session.box)
        await session.door.close()
        if session.web is not None:
            await session.web.close()
        await asyncio.to_thread(session.folder.cleanup)
        try:
            await in_thread(records.end_row)(session.id, because, note=note)
        except DatabaseError as error:
            log.warning("sandbox.end_not_noted", key=session.owner.key, why=str(error))

    async def _snapshot(self, session: Session) -> str:
        """Why it could not be kept; empty if it was, or nothing had changed."""
        owner = session.owner
        if owner.user_id is None or not (session.changed or session.is_unkept):
            return ""
        session.changed, session.is_unkept = False, True
        async with self._packing:
            try:
                archive = await session.box.pack(snapshots.FOLDERS, max_bytes=self.terms.snapshot_max_bytes)
                names = [name for name in session.remembered if name.startswith(VERSION_OF)]
                await in_thread(snapshots.keep)(owner, snapshots.with_names(archive, names), session_id=session.id)
            except (SandboxError, OSError, DatabaseError) as error:
                why = error.message if isinstance(error, SandboxError) else str(error)
                log.warning("sandbox.not_snapshotted", key=owner.key, why=why)
                return f"No snapshot was kept: {why.rstrip('.')}"[:1_000] + "."
        session.is_unkept = session.is_live
        return ""

    async def _restored(self, session: Session) -> str:
        owner = session.owner
        if owner.user_id is None:
            return ""
        try:
            kept = await in_thread(snapshots.find)(owner)
            not_kept = await in_thread(records.why_not_kept)(owner)
            if kept is None:
                return NOT_KEPT.format(why=not_kept) if not_kept else ""
            names, archive = snapshots.parted(kept)
            await session.box.unpack(archive)
        except StorageAway as error:
            raise SandboxError("The file storage, which has what was in the sandbox, is away. Try again.") from error
        except SandboxError as error:
            log.warning("sandbox.not_restored", key=owner.key, why=error.message)
            return NOT_RESTORED.format(why=error.message)
        # As of no version: a program may have changed them since, and what the workspace has is put there anew.
        session.remembered = dict.fromkeys(names, "")
        return OLDER_RESTORED.format(why=not_kept) if not_kept else RESTORED


async def _refuse_gone(owner: Owner) -> None:
    if owner.user_id is not None and not await in_thread(records.may_work)(owner.user_id):
        raise SandboxError(GONE_USER)
