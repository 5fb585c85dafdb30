"""Hearing what is announced to a Channels group: one connection a process, one subscription a group, however many
listen.

While Redis is away nothing is heard and nobody is told; whoever listens looks at the table from time to time anyway.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import redis.asyncio
from channels.layers import get_channel_layer
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from hyperagent.lib.announcing import redis_channel, redis_options
from hyperagent.lib.redis_silence import is_silent

log = logging.getLogger(__name__)

Message = dict[str, Any]
Hear = Callable[[Message], Awaitable[None]]

AGAIN_AFTER_S = 1.0
JOINED_WITHIN_S = 2.0
# In this version of Redis' protocol what is published comes as a plain list.
PROTOCOL = 2


@asynccontextmanager
async def listening(group: str, hear: Hear) -> AsyncIterator[None]:
    """Within it `hear` is called with each message, in order. On entry the subscription stands, unless Redis is
    away.
    """
    loop = asyncio.get_running_loop()
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    ear = line.ear_of(group)
    ear.hearers.append(hear)
    try:
        await line.join(ear)
        await ear.joined_or_late()
        yield
    finally:
        ear.hearers.remove(hear)
        if not ear.hearers:
            await line.leave(ear)


class _Line:
    """The connection of one event loop, until that ends.

    Reads by itself: through the channel layer each message took four times the CPU, and an answer that streams is 25
    of them a second.
    """

    def __init__(self) -> None:
        options = {"retry": Retry(NoBackoff(), 0), "protocol": PROTOCOL, **redis_options()}
        self._pool = redis.asyncio.ConnectionPool.from_url(options.pop("address"), **options)
        self._ears: dict[bytes, _Ear] = {}
        self._connection: AbstractConnection | None = None
        self._task = asyncio.create_task(self._keep())

    def ear_of(self, group: str) -> "_Ear":
        channel = redis_channel(group).encode()
        ear = self._ears.get(channel)
        if ear is None:
            ear = self._ears[channel] = _Ear(group, channel)
        return ear

    async def join(self, ear: "_Ear") -> None:
        if len(ear.hearers) == 1:
            await self._say("SUBSCRIBE", ear.channel)

    async def leave(self, ear: "_Ear") -> None:
        del self._ears[ear.channel]
        ear.close()
        await self._say("UNSUBSCRIBE", ear.channel)

    async def _say(self, *words: str | bytes) -> None:
        """Where it cannot be said, whoever reads finds that out, and all is said anew."""
        if self._connection is not None:
            with suppress(RedisError, OSError):
                await self._connection.send_command(*words)

    async def _keep(self) -> None:
        try:
            while True:
                try:
                    await self._read()
                except (RedisError, OSError) as error:
                    log.warning("nothing announced is heard, news come late: %s", error)
                for ear in self._ears.values():
                    ear.joined.clear()
                await asyncio.sleep(AGAIN_AFTER_S)
        finally:
            del _lines[asyncio.get_running_loop()]

    async def _read(self) -> None:
        connection: AbstractConnection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            self._connection = connection
            if self._ears:
                await connection.send_command("SUBSCRIBE", *self._ears)
            while True:
                said = await connection.read_response(disable_decoding=True, timeout=math.inf, push_request=True)
                self._hear(*said)
        finally:
            self._connection = None
            await connection.disconnect(nowait=True)

    def _hear(self, kind: bytes, channel: bytes, said: Any) -> None:
        ear = self._ears.get(channel)
        if ear is None:
            return
        if kind == b"message":
            ear.waiting.put_nowait(said)
        elif kind == b"subscribe":
            ear.joined.set()


class _Ear:
    """One group's listeners."""

    def __init__(self, group: str, channel: bytes) -> None:
        self.group, self.channel = group, channel
        self.hearers: list[Hear] = []
        self.joined = asyncio.Event()
        self.waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self.task = asyncio.create_task(self._tell_all())

    def close(self) -> None:
        """The task's last breath holds the ear: if that held the task, too, both would stay."""
        self.task.cancel()
        del self.task

    async def joined_or_late(self) -> None:
        if not self.joined.is_set() and not is_silent():
            try:
                async with asyncio.timeout(JOINED_WITHIN_S):
                    await self.joined.wait()
            except TimeoutError:
                log.warning("listening to %s without Redis: news come late", self.group)

    async def _tell_all(self) -> None:
        layer = get_channel_layer()
        assert layer is not None, "CHANNEL_LAYERS has no default"
        while True:
            said = await self.waiting.get()
            try:
                message = layer.deserialize(said)
            except ValueError as error:
                log.warning("%s was told what nobody can read: %s", self.group, error)
                continue
            for hear in tuple(self.hearers):
                await self._tell(hear, message)

    async def _tell(self, hear: Hear, message: Message) -> None:
        try:
            await hear(message)
        except Exception:
            # One listener's fault must not make the others deaf.
            log.exception("a listener of %s failed", self.group)


_lines: dict[asyncio.AbstractEventLoop, _Line] = {}
