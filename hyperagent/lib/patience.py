"""How long is waited for a server that is gone without a word: its machine lost power, or a cable was cut, and nothing
refuses what is sent. Left to themselves, connections would be waited on for a quarter of an hour, idle ones for two.

Settings of the connections alone; nothing is connected here. Sockets of this machine take no notice of them.
"""

import socket
from collections.abc import Mapping
from typing import Any, Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from redis.asyncio import Connection
from redis.exceptions import ConnectionError as RedisConnectionError

CONNECT_TIMEOUT_S: Final = 5
# Less than a lease (LEASE_SECONDS): who comes back meanwhile still has its runs.
UNANSWERED_S: Final = 8
IDLE_S, PROBE_EVERY_S, PROBES = 5, 2, 3

POSTGRES: Final[Mapping[str, int]] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "keepalives_idle": IDLE_S,
    "keepalives_interval": PROBE_EVERY_S,
    "keepalives_count": PROBES,
    "tcp_user_timeout": 1000 * UNANSWERED_S,
}
"""Parameters of libpq, by their names there."""

# What the other systems call them, or do not have, is left out.
_OF_SOCKETS: Final = {
    "TCP_KEEPIDLE": IDLE_S,
    "TCP_KEEPINTVL": PROBE_EVERY_S,
    "TCP_KEEPCNT": PROBES,
    "TCP_USER_TIMEOUT": 1000 * UNANSWERED_S,
}


class WatchedConnection(Connection):
    """One whose end is noticed. The kernel gives a silent line up with ETIMEDOUT, which Python calls a TimeoutError,
    and redis-py takes that for "nothing has come yet": whoever waits for news would ask again at once, for ever, and
    nothing else in the process would ever run.
    """

    async def read_response(self, *args: Any, **options: Any) -> Any:
        error = None if self._reader is None else self._reader.exception()
        if error is not None:
            await self.disconnect(nowait=True)
            raise RedisConnectionError(f"the line to Redis was given up: {error}") from error
        return await super().read_response(*args, **options)


def patient(url: str) -> str:
    """The address of a Postgres as a connection string with these settings; what it says itself stays."""
    said = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in POSTGRES.items() if name not in said})


def redis_options(url: str) -> dict[str, Any]:
    """For a client of redis-py that waits for news without a time limit; empty for a socket of this machine."""
    if not url.startswith("redis://"):
        # Over TLS the class of connections is not ours to choose.
        return {"socket_connect_timeout": 2} if url.startswith("rediss://") else {}
    options = {getattr(socket, name): value for name, value in _OF_SOCKETS.items() if hasattr(socket, name)}
    watched = {"connection_class": WatchedConnection, "socket_keepalive": True, "socket_keepalive_options": options}
    return {"socket_connect_timeout": 2, **watched}
