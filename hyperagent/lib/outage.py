"""Which exceptions say that Postgres or Redis is away for the moment, so that the answer is "again later"."""

from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

RETRY_AFTER_S = 5
CODE = "unavailable"
MESSAGE = "A part of the server is not there at the moment. Nothing is lost; try again in a few seconds."

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
