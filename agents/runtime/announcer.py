"""Tells the web processes what was stored: one write to Redis a commit. A hint: who misses it looks at the table."""

import asyncio
from typing import Any

import hiredis
import redis.asyncio
import redis.exceptions
import structlog
from channels.layers import get_channel_layer
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from agents.engine.events import TERMINAL_TYPES
from agents.runtime.outbox import Parcel
from hyperagent.lib.announcing import redis_channel

log = structlog.get_logger(__name__)

TIMEOUT_S = 1.0
PAUSE_S = 1.0


class Announcer:
    """Publishes in order, from a task of its own, so that Redis never holds up a commit."""

    def __init__(self, redis_url: str) -> None:
        # A connection of its own: the client's pipeline took a sixth of a streaming runner's CPU.
        pool = redis.asyncio.ConnectionPool.from_url(
            redis_url, socket_timeout=None, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0)
        )
        self._connection = pool.make_connection()  # type: ignore[no-untyped-call]
        layer = get_channel_layer()
        assert layer is not None, "CHANNEL_LAYERS has no default"
        self._serialize = layer.serialize
        self._waiting: list[Parcel] = []
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="announcer")

    async def stop(self) -> None:
        """Says what is left to say. Nothing is cancelled: a client that is cut off in a command never closes."""
        self._stopping = True
        self._awake.set()
        if self._task is not None:
            await self._task
        await self._connection.disconnect()

    def announce(self, parcels: list[Parcel]) -> None:
        said = [parcel for parcel in parcels if parcel.rows]
        if said:
            self._waiting.extend(said)
            self._awake.set()

    async def _run(self) -> None:
        while not self._stopping or self._waiting:
            await self._awake.wait()
            self._awake.clear()
            if not await self._publish_waiting() and not self._stopping:
                await asyncio.sleep(PAUSE_S)

    async def _publish_waiting(self) -> bool:
        parcels, self._waiting = self._waiting, []
        if not parcels:
            return True
        said = b"".join(
            hiredis.pack_command(
                (b"PUBLISH", redis_channel(parcel.outbox.group), self._serialize(message_of(parcel)))  # type: ignore[arg-type]
            )
            for parcel in parcels
        )
        try:
            try:
                await self._publish(said, count=len(parcels))
            except (redis.exceptions.ConnectionError, ConnectionError):
                # It may have been closed while nothing was said. What is said twice is heard once.
                await self._publish(said, count=len(parcels))
        except (redis.exceptions.RedisError, OSError) as error:
            log.warning("announcer.redis_away", dropped=len(parcels), error=str(error) or f"silent for {TIMEOUT_S:g} s")
            return False
        return True

    async def _publish(self, said: bytes, *, count: int) -> None:
        """Raises RedisError and OSError; the connection is then a new one the next time."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._connection.send_packed_command(said)
                for _ in range(count):
                    await self._connection.read_response(disable_decoding=True)
        except BaseException:
            # However it was cut off, replies to this would be taken for those to the next.
            await self._connection.disconnect(nowait=True)
            raise


def message_of(parcel: Parcel) -> dict[str, Any]:
    """What the sockets get: the stored texts as they are, to be sent on without being read."""
    rows = parcel.rows
    return {
        "type": "run.events",
        "execution_id": str(parcel.outbox.execution_id),
        "epoch": parcel.outbox.epoch,
        "first": rows[0].seq,
        "last": rows[-1].seq,
        "bodies": [row.body for row in rows],
        "final": any(row.type in TERMINAL_TYPES for row in rows),
    }
