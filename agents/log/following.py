"""Following a run from any number on: from the table first, then as it is announced, then from the table whenever
something was missed. Ends with the run's last event. Knows no transport.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from uuid import UUID

import orjson
from django.utils.translation import gettext as _

from agents.engine.states import TERMINAL_STATUSES, ExecutionStatus
from agents.log import reading
from agents.log.event_schema import Resync
from agents.log.reading import LoggedEvent
from agents.models import Execution
from hyperagent.accounts.models import User
from hyperagent.lib.listening import listening
from hyperagent.lib.refusals import NotAllowed
from hyperagent.lib.threads import in_thread

LOOK_S = 3.0
# Announcements that wait for a reader; if there are more, the table has them.
NEWS_KEPT = 64
SETTLED = TERMINAL_STATUSES | {ExecutionStatus.AWAITING_USER}
# The events that a reader had last, known by their text: more than stand in an announcement.
RECALLED = 64


class Recent:
    """What a reader had last of one run, and from which driver: knows a log that lost its end and gave the same
    numbers to other events.

    `is_in_doubt`: a new driver goes on after what the reader has, which it may have said anew before, unheard.
    """

    __slots__ = ("_bodies", "_epoch", "is_in_doubt")

    def __init__(self) -> None:
        self._epoch = 0
        self._bodies: deque[int] = deque(maxlen=RECALLED)
        self.is_in_doubt = False

    def got(self, body: str) -> None:
        """The next event, in order."""
        self._bodies.append(hash(body))

    def lost(self, had: int, first: int, epoch: int, bodies: list[str]) -> bool:
        """Whether this announcement says that the log has lost what the reader has, up to number `had`.

        A reader may have a new driver's events from the table before it hears of them: those have the same text. Who
        has all from the table does not know whose events they are.
        """
        known, self._epoch = self._epoch, max(self._epoch, epoch)
        if epoch <= known or not (known or self._bodies):
            return False
        is_same = self._is_same(had, first, bodies)
        if is_same is None and (first > had or not known):
            self.is_in_doubt = True
            return False
        return not is_same

    def after(self, had: int, execution_id: UUID | str, *, limit: int = reading.PAGE) -> list[LoggedEvent] | None:
        """The table's next events, after number `had`. None if the log has lost what the reader has: the event of that
        number is another one by now."""
        if not self._bodies:
            return reading.events_after(execution_id, had, limit=limit)
        rows = reading.events_after(execution_id, had - 1, limit=limit + 1)
        if rows and hash(rows[0].body) != self._bodies[-1]:
            return None
        self.is_in_doubt = self.is_in_doubt and not rows
        return rows[1:]

    def _is_same(self, had: int, first: int, bodies: list[str]) -> bool | None:
        """Whether what is announced and had already is the same; None where nothing is to be compared."""
        start = had - len(self._bodies) + 1
        both = range(max(first, start), min(first + len(bodies) - 1, had) + 1)
        return all(hash(bodies[seq - first]) == self._bodies[seq - start] for seq in both) if both else None


class Follower:
    """What one reader has of one run: is given announcements and rows, and says what is new."""

    def __init__(self, after: int) -> None:
        self.last = after
        self.recent = Recent()

    def got(self, body: str) -> None:
        """The next event, in order."""
        self.last += 1
        self.recent.got(body)

    def lost(self, first: int, epoch: int, bodies: list[str]) -> bool:
        """Whether the log has lost what the reader has: a later driver gives the same numbers to other events."""
        return self.recent.lost(self.last, first, epoch, bodies)

    def forget(self) -> None:
        self.last = 0
        self.recent = Recent()

    def fresh(self, first: int, last: int, bodies: list[str]) -> list[str] | None:
        """The bodies that the reader does not have yet, which then count as had; None if only the table can tell:
        something before them is missing, or all of them are had already, as after a loss of the log's end.
        """
        if self.recent.is_in_doubt or first > self.last + 1 or last <= self.last or last - first + 1 != len(bodies):
            return None
        news = bodies[self.last + 1 - first :]
        for body in news:
            self.got(body)
        return news


class _News:
    """The announcements of one run, kept until the reader comes."""

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id
        self.waiting: deque[dict[str, Any]] = deque(maxlen=NEWS_KEPT)
        self._something = asyncio.Event()

    async def hear(self, message: dict[str, Any]) -> None:
        if message.get("type") == "run.events" and message.get("execution_id") == self.execution_id:
            self.waiting.append(message)
            self._something.set()

    async def came(self) -> bool:
        """Waits for news. False if nothing came for a while: time to look at the table."""
        try:
            async with asyncio.timeout(LOOK_S * random.uniform(0.7, 1.3)):  # noqa: S311 - only spreads the looks
                await self._something.wait()
        except TimeoutError:
            return False
        self._something.clear()
        return True

    def taken(self) -> list[dict[str, Any]]:
        messages = list(self.waiting)
        self.waiting.clear()
        return messages


async def follow(execution: Execution, after: int) -> AsyncGenerator[LoggedEvent | None, None]:
    """Every event after that number, once and in order, up to the last. None where nothing happened for some
    seconds.

    A log can lose its end: a database that dies takes the last token frames with it, and their numbers are given anew.
    The reader is then told `resync`, has to forget the run, and gets it from 1.

    Of a person who was deactivated meanwhile nothing more is told within some seconds, and never the run's end.
    """
    news = _News(str(execution.id))
    follower = Follower(after)
    looked_at_s = time.monotonic()
    async with listening(execution.group_name, news.hear):
        now = await in_thread(reading.progress_of)(execution.id) if after else None
        while True:
            if now is not None and now.last_seq < follower.last:
                follower.forget()
                yield _resync(execution)
            now = None
            rows = await in_thread(follower.recent.after)(follower.last, execution.id)
            if rows is None:
                follower.forget()
                yield _resync(execution)
                continue
            for event in rows:
                follower.got(event.body)
            for event in rows or (rows := await _announced(news, follower, execution)):
                if event.is_last or time.monotonic() - looked_at_s > LOOK_S:
                    looked_at_s = time.monotonic()
                    if await in_thread(_is_shut)(execution):
                        return
                yield event
                if event.is_last:
                    return
            if not rows:
                now = await in_thread(reading.progress_of)(execution.id)
                yield None
                # A run may have ended without a last event.
                if now is None or (now.is_over and now.last_seq == follower.last):
                    return


def _is_shut(execution: Execution) -> bool:
    """A run without a person is nobody's to shut."""
    return execution.user_id is not None and User.objects.filter(pk=execution.user_id, is_active=False).exists()


async def _announced(news: _News, follower: Follower, execution: Execution) -> list[LoggedEvent]:
    """The next events by announcement alone; empty when only the table can help: a gap, or a long silence."""
    while await news.came():
        events: list[LoggedEvent] = []
        for message in news.taken():
            if follower.lost(message["first"], message["epoch"], message["bodies"]):
                follower.forget()
                return [*events, _resync(execution)]
            had = follower.last
            bodies = follower.fresh(message["first"], message["last"], message["bodies"])
            if bodies is None:
                return events
            events += [
                LoggedEvent(seq, str(orjson.loads(body)["type"]), body) for seq, body in enumerate(bodies, had + 1)
            ]
        if events:
            return events
    return []


def _resync(execution: Execution) -> LoggedEvent:
    """No event of the log: a word to the reader in the shape of one, with the number to come back with."""
    word = Resync(execution_id=execution.id)
    return LoggedEvent(word.seq, word.type, word.model_dump_json())


def waits(body: Mapping[str, Any]) -> bool:
    """Whether this event says that the run waits for people. Its row may say so a moment later."""
    return bool(body["type"] == "status_changed" and body["status"] == ExecutionStatus.AWAITING_USER)


async def settled(execution: Execution) -> Execution:
    """Waits, without a thread or a connection, until the run is over or waits for a person; gives it as it is then.

    Raises NotAllowed as soon as it is known that its person was deactivated meanwhile.
    """
    news = _News(str(execution.id))
    async with listening(execution.group_name, news.hear):
        while True:
            now = await in_thread(as_it_is)(execution.id)
            if now.status in SETTLED:
                return now
            while await news.came() and not any(_may_have_settled(message) for message in news.taken()):
                pass


def as_it_is(execution_id: UUID) -> Execution:
    """The run for its person, who asked for it a while ago. Raises NotAllowed if they were deactivated since."""
    now = Execution.objects.select_related("user").get(id=execution_id)
    if now.user is not None and not now.user.is_active:
        raise NotAllowed("deactivated", _("This account is deactivated: its runs are answered no more."))
    return now


def _may_have_settled(message: dict[str, Any]) -> bool:
    return bool(message.get("final")) or any('"status_changed"' in body for body in message["bodies"])
