"""A runner's own line: it is there again as soon as the database is, and nothing half done stays in it."""

import asyncio
from typing import Any

import psycopg
import pytest

from agents.runtime.own_connection import OwnConnection
from tests.runtime.driving import database_dsn

pytestmark = pytest.mark.django_db


async def number_of(connection: psycopg.AsyncConnection[Any]) -> int:
    return connection.info.backend_pid


async def test_a_line_that_was_cut_is_made_anew_by_its_next_use() -> None:
    line = OwnConnection(database_dsn())
    first = await line.ask(number_of)
    assert await line.ask(number_of) == first
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as other:
        await other.execute("SELECT pg_terminate_backend(%s)", [first])

    async def look(connection: psycopg.AsyncConnection[Any]) -> int:
        cursor = await connection.execute("SELECT pg_backend_pid()")
        row: Any = await cursor.fetchone()
        return int(row[0])

    assert await line.ask(look) != first
    await line.aclose()


async def test_while_the_database_is_away_it_says_so_and_waits_for_nothing(tmp_path: Any) -> None:
    line = OwnConnection(f"host={tmp_path} dbname=nowhere")

    with pytest.raises(psycopg.OperationalError):
        await line.ask(number_of)


async def test_whoever_is_cut_off_in_the_middle_leaves_no_query_behind() -> None:
    line = OwnConnection(database_dsn())
    first = await line.ask(number_of)

    async def slowly(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("SELECT pg_sleep(30)")

    asked = asyncio.create_task(line.ask(slowly))
    await asyncio.sleep(0.2)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked

    assert await line.ask(number_of) != first
    await line.aclose()


async def test_a_claim_that_stands_still_holds_its_rows_for_a_while_only() -> None:
    line = OwnConnection(database_dsn())

    async def claim(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("SET idle_in_transaction_session_timeout = '10ms'")
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(77)")
            await asyncio.sleep(0.2)

    async def patience(connection: psycopg.AsyncConnection[Any]) -> str:
        cursor = await connection.execute("SHOW idle_in_transaction_session_timeout")
        row: Any = await cursor.fetchone()
        return str(row[0])

    assert await line.ask(patience) == "10s"
    with pytest.raises(psycopg.Error):
        await line.ask(claim)
    assert await line.ask(patience) == "10s"
    await line.aclose()
