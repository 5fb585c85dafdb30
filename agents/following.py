"""Following a run from any number on: from the table first, then as it is announced, then from the table whenever
something was missed. Ends with the run's last event. Knows no transport.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

import orjson

from agents import reading
from agents.engine.states import TERMINAL_STATUSES, ExecutionStatus
from agents.models import Execution
from agents.reading import LoggedEvent
from hyperagent.lib.listening import listening
from hyperagent.lib.threads import in_thread

LOOK_S = 3.0
# Announcements that wait for a reader; if there are more, the table has them.
NEWS_KEPT = 64
RESYNC = "resync"
SETTLED = TERMINAL_STATUSES | {ExecutionStatus.AWAITING_USER}


class Follower:
    """What one reader has of one run. Pure: it is given announcements and rows, and says what is new."""

    def __init__(self, after: int) -> None:
        self.last = after
        self._epoch = 0

    def lost(self, first: int, epoch: int) -> bool:
        """Whether the log has lost what the reader has: a later driver gives the same numbers to other events."""
        again = lost_its_end(had=self.last, first=first, known=self._epoch, epoch=epoch)
        self._epoch = max(self._epoch, epoch)
        return again

    def fresh(self, first: int, last: int, bodies: list[str]) -> list[str] | None:
        """The bodies that the reader does not have yet, which then count as had; None if only the table can tell:
        something before them is missing, or all of them are had already, as after a loss of the log's end.
        """
        if first > self.last + 1 or last <= self.last or last - first + 1 != len(bodies):
            return None
        news = bodies[self.last + 1 - first :]
        self.last = last
        return news


def lost_its_end(*, had: int, first: int, known: int, epoch: int) -> bool:
    """`known`: the newest epoch that the reader has heard of, 0 for none; `first`, `epoch`: of an announcement."""
    return 0 < known < epoch and first <= had


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
            await asyncio.wait_for(self._something.wait(), LOOK_S * random.uniform(0.7, 1.3))  # noqa: S311 - only spreads the looks
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
    """
    news = _News(str(execution.id))
    follower = Follower(after)
    async with listening(execution.group_name, news.hear):
        now = await in_thread(reading.progress_of)(execution.id) if after else None
        while True:
            if now is not None and now.last_seq < follower.last:
                follower.last = 0
                yield _resync(execution)
            now = None
            rows = await in_thread(reading.events_after)(execution.id, follower.last)
            if not rows:
                rows = await _announced(news, follower, execution)
            for event in rows:
                follower.last = event.seq
                yield event
                if event.is_last:
                    return
            if not rows:
                now = await in_thread(reading.progress_of)(execution.id)
                yield None
                # A run may have ended without a last event.
                if now is None or (now.is_over and now.last_seq == follower.last):
                    return


async def _announced(news: _News, follower: Follower, execution: Execution) -> list[LoggedEvent]:
    """The next events by announcement alone; empty when only the table can help: a gap, or a long silence."""
    while await news.came():
        events: list[LoggedEvent] = []
        for message in news.taken():
            if follower.lost(message["first"], message["epoch"]):
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
    body = orjson.dumps({"type": RESYNC, "seq": 0, "execution_id": str(execution.id)})
    return LoggedEvent(0, RESYNC, body.decode())


async def settled(execution: Execution) -> Execution:
    """Waits, without a thread or a connection, until the run is over or waits for a person; gives it as it is then."""
    news = _News(str(execution.id))
    async with listening(execution.group_name, news.hear):
        while True:
            now = await in_thread(Execution.objects.get)(id=execution.id)
            if now.status in SETTLED:
                return now
            while await news.came() and not any(_may_have_settled(message) for message in news.taken()):
                pass


def _may_have_settled(message: dict[str, Any]) -> bool:
    return bool(message.get("final")) or any('"status_changed"' in body for body in message["bodies"])
