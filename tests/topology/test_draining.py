"""What a web server that leaves waits for, and how long it waits for a machine that says nothing."""

import asyncio
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from redis.exceptions import ConnectionError as RedisConnectionError

from hyperagent.draining import Draining
from hyperagent.lib import patience


async def receive() -> dict[str, Any]:
    return {"type": "http.request"}


async def answered(draining: Draining, *, type_: bytes = b"text/html") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append({**message, "under_way": draining.under_way})

    await draining({"type": "http", "answers": type_}, receive, send)
    return sent


async def application(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", scope["answers"])]})
    await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b"all of it"})


async def test_an_answer_is_under_way_until_it_is_whole_and_a_stream_until_it_has_begun() -> None:
    draining = Draining(application)

    page, stream = await answered(draining), await answered(draining, type_=b"text/event-stream; charset=utf-8")

    assert [message["under_way"] for message in page] == [1, 1]
    assert [message["under_way"] for message in stream] == [0, 0]
    assert draining.under_way == 0


async def test_an_answer_that_fails_is_not_waited_for() -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("no")

    draining = Draining(failing)

    with pytest.raises(ValueError, match="no"):
        await draining({"type": "http"}, receive, receive)

    assert draining.under_way == 0


async def test_who_leaves_says_with_each_answer_that_it_was_the_last_on_this_connection() -> None:
    draining = Draining(application)

    before = await answered(draining)
    draining.is_leaving = True
    after = await answered(draining)

    assert (b"connection", b"close") not in before[0]["headers"]
    assert (b"connection", b"close") in after[0]["headers"]


def test_connections_to_postgres_are_given_up_in_time_and_what_an_address_says_itself_stays() -> None:
    plain = conninfo_to_dict(patience.patient("postgresql://me:secret@db.example.org/agents"))
    own = conninfo_to_dict(
        patience.patient("postgresql://db.example.org/agents?tcp_user_timeout=30000&sslmode=require")
    )

    assert (plain["host"], plain["password"], plain["dbname"]) == ("db.example.org", "secret", "agents")
    assert plain["tcp_user_timeout"] == str(1000 * patience.UNANSWERED_S)
    assert (own["tcp_user_timeout"], own["sslmode"]) == ("30000", "require")


async def test_a_line_to_redis_that_the_kernel_gave_up_is_an_error_and_not_silence() -> None:
    line = patience.WatchedConnection()
    line._reader = asyncio.StreamReader()
    line._reader.set_exception(TimeoutError(110, "Connection timed out"))

    with pytest.raises(RedisConnectionError, match="given up"):
        await line.read_response(timeout=0.1)


def test_only_connections_that_can_be_cut_are_watched() -> None:
    assert patience.redis_options("unix:///run/valkey.sock?db=0") == {}
    assert patience.redis_options("redis://cache.example.org:6379/0")["socket_keepalive"] is True
