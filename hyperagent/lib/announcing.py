"""Announcing to a Channels group from synchronous code, over one plain connection: `async_to_sync(group_send)` would
open a loop and a connection each time (5-20 ms). An announcement is a hint; rows are the truth, so one that is lost is
only logged.
"""

import logging
from functools import cache
from typing import Any, cast
from uuid import UUID

import redis
from channels.layers import get_channel_layer
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from hyperagent.lib.redis_silence import unless_silent

log = logging.getLogger(__name__)


def publish(group: str, *messages: dict[str, Any]) -> bool:
    """True if Redis took them, in one go. A message needs a `type`, as with `group_send`."""
    layer = get_channel_layer()
    if layer is None:
        return False
    try:
        with unless_silent(), client().pipeline(transaction=False) as all_of_them:
            for message in messages:
                all_of_them.publish(redis_channel(group), layer.serialize(message))
            all_of_them.execute()
    except redis.RedisError as error:
        kinds = ", ".join(str(message.get("type")) for message in messages)
        log.warning("could not announce %s to %s: %s", kinds, group, error)
        return False
    return True


def personal_group(user_id: UUID) -> str:
    """The Channels group of all sockets of this person's inbox, whatever they are told of."""
    return f"person.{user_id}"


def redis_channel(group: str) -> str:
    """What RedisPubSubChannelLayer calls the group in Redis."""
    return f"{_prefix()}__group__{group}"


def redis_options() -> dict[str, Any]:
    """The `address` of that Redis, and how its connections are to be."""
    return dict(_config()["hosts"][0])


@cache
def _prefix() -> str:
    return str(_config().get("prefix", "asgi"))


def _config() -> dict[str, Any]:
    return cast(dict[str, Any], settings.CHANNEL_LAYERS["default"]["CONFIG"])


def client() -> redis.Redis:
    return client_at(redis_options()["address"])


@cache
def client_at(address: str, *, answers_within_s: float = 0.5) -> redis.Redis:
    """Whoever waits for the answer to a request must not wait for Redis: a line that broke is tried once more, one that
    is silent is not."""
    return redis.Redis.from_url(
        address,
        socket_connect_timeout=0.5,
        socket_timeout=answers_within_s,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        health_check_interval=30,
    )
