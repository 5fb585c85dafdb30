"""Hearing what is announced to a Channels group: one subscription a group and process, however many listen.

While Redis is away nothing is heard and nobody is told; whoever listens looks at the table from time to time anyway.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

Message = dict[str, Any]
Hear = Callable[[Message], Awaitable[None]]

AGAIN_AFTER_S = 1.0
JOINED_WITHIN_S = 2.0


@asynccontextmanager
async def listening(group: str, hear: Hear) -> AsyncIterator[None]:
    """Within it `hear` is called with each message, in order. On entry the subscription stands, unless Redis is
    away.
    """
    group_ears = _ears.setdefault(asyncio.get_running_loop(), {})
    ear = group_ears.get(group)
    if ear is None:
        ear = group_ears[group] = _Ear(group)
    ear.hearers.append(hear)
    try:
        await ear.joined_or_late()
        yield
    finally:
        ear.hearers.remove(hear)
        if not ear.hearers:
            del group_ears[group]
            ear.task.cancel()


class _Ear:
    """One group's subscription."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.hearers: list[Hear] = []
        self._joined = asyncio.Event()
        self.task = asyncio.create_task(self._listen())

    async def joined_or_late(self) -> None:
        if not self._joined.is_set():
            try:
                await asyncio.wait_for(self._joined.wait(), JOINED_WITHIN_S)
            except TimeoutError:
                log.warning("listening to %s without Redis: news come late", self.group)

    async def _listen(self) -> None:
        while True:
            try:
                await self._receive()
            except (RedisError, OSError) as error:
                log.warning("cannot listen to %s: %s", self.group, error)
                await asyncio.sleep(AGAIN_AFTER_S)

    async def _receive(self) -> None:
        layer = get_channel_layer()
        if layer is None:
            raise OSError("no channel layer is configured")
        channel = await layer.new_channel()
        try:
            await layer.group_add(self.group, channel)
            self._joined.set()
            while True:
                message = await layer.receive(channel)
                for hear in tuple(self.hearers):
                    await self._tell(hear, message)
        finally:
            try:
                await layer.group_discard(self.group, channel)
            except (RedisError, OSError) as error:
                log.info("could not leave %s: %s", self.group, error)

    async def _tell(self, hear: Hear, message: Message) -> None:
        try:
            await hear(message)
        except Exception:
            # One listener's fault must not make the others deaf.
            log.exception("a listener of %s failed", self.group)


_ears: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Ear]]" = WeakKeyDictionary()
