"""Django's cache on Redis: values as JSON, never pickled; a cache that is away or takes nothing is an empty one."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

import orjson
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from hyperagent.lib.redis_silence import unless_silent

log = logging.getLogger(__name__)


class JsonSerializer:
    """Only what JSON can say is cached: nothing that another program writes into Redis can run code here."""

    def dumps(self, value: Any) -> bytes | int:
        # Redis counts on bare numbers only.
        return value if type(value) is int else orjson.dumps(value)

    def loads(self, stored: bytes) -> Any:
        """None for what none of us has written."""
        try:
            return orjson.loads(stored)
        except ValueError:
            log.warning("the cache holds something that is no JSON")
            return None


def _or_if_away(missing: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: while Redis is away the method answers what `missing` gives for its arguments; and where it refuses
    what it is told, as one that is full, cannot save, or became a replica."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                with unless_silent():
                    return method(*args, **kwargs)
            except (RedisConnectionError, RedisTimeoutError, ResponseError) as error:
                log.warning("the cache is away: %s", error)
                return missing(*args, **kwargs)

        return guarded

    return decorate


class Client(RedisCacheClient):
    """Django's client, which raises when Redis is away; here a read finds nothing and a write is lost. What none of us
    has written is nothing, too."""

    @_or_if_away(lambda self, key, default: default)
    def get(self, key: str, default: Any) -> Any:
        found = super().get(key, default)
        return default if found is None else found

    get_many = _or_if_away(lambda self, keys: {})(RedisCacheClient.get_many)
    has_key = _or_if_away(lambda self, key: False)(RedisCacheClient.has_key)
    add = _or_if_away(lambda self, key, value, timeout: True)(RedisCacheClient.add)
    set = _or_if_away(lambda self, key, value, timeout: None)(RedisCacheClient.set)
    set_many = _or_if_away(lambda self, values, timeout: None)(RedisCacheClient.set_many)
    touch = _or_if_away(lambda self, key, timeout: False)(RedisCacheClient.touch)
    incr = _or_if_away(lambda self, key, delta: delta)(RedisCacheClient.incr)
    delete = _or_if_away(lambda self, key: False)(RedisCacheClient.delete)
    delete_many = _or_if_away(lambda self, keys: None)(RedisCacheClient.delete_many)


class Cache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = Client
