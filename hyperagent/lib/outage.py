"""Which exceptions say that Postgres or Redis is away for the moment, so that the answer is "again later"."""

from django.db import InterfaceError, OperationalError, connection
from django.utils.translation import gettext_noop
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

RETRY_AFTER_S = 5
CODE = "unavailable"
MESSAGE = gettext_noop("A part of the server is not there at the moment. Nothing is lost; try again in a few seconds.")

_AWAY = (
    OperationalError,
    InterfaceError,
    PoolClosed,
    PoolTimeout,
    TooManyRequests,
    RedisConnectionError,
    RedisTimeoutError,
)


def is_outage(error: BaseException | None) -> bool:
    return isinstance(error, _AWAY)


def heal() -> None:
    """After an outage: looks at all connections that lie in the pool at once, and replaces those that are dead.

    Left to itself the pool finds them one by one, with a pause of a second and more after each, so that the next
    requests would wait in vain as well.
    """
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.check()
