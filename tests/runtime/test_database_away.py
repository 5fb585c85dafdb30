"""A run whose look at the database met a broken connection goes on; what the database itself refused ends it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from agents.runtime.context import AgentContext
from agents.runtime.lookups import Lookups
from hyperagent.lib.threads import in_thread
from tests.runtime.driving import database_dsn, ended, events, start

pytestmark = pytest.mark.django_db(transaction=True)


def _cut_off() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def _too_slow() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 10")
        cursor.execute("SELECT pg_sleep(5)")


def _looks(looks: list[str], first: Any) -> Any:
    """A program that looks in a thread after a step that stays recorded; its first look goes wrong."""

    async def program(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        before = await context.note("looks before", lambda: len(looks))
        looks.append("look")
        if len(looks) == 1:
            await in_thread(first)()
        return {"answer": f"{before} then, {len(looks)} now", "sources": []}

    return program


@pytest.mark.spec("B1")
async def test_a_look_that_was_cut_off_is_taken_again(alice: Any, echo_server: Any, make_runner: Any) -> None:
    await make_runner(echo_server.url, extra={"looks": _looks([], _cut_off)})
    id_ = await start(alice, "q", pipeline="looks")
    run = await ended(id_, timeout_s=30)

    assert (run.status, run.answer, run.crashes) == ("completed", "0 then, 2 now", 0)
    assert [one["reason"] for one in await events(id_) if one["type"] == "agent_shutdown"] == ["drain"]


async def test_what_the_database_refused_is_not_tried_for_ever(alice: Any, echo_server: Any, make_runner: Any) -> None:
    looks: list[str] = []
    await make_runner(echo_server.url, extra={"looks": _looks(looks, _too_slow)})
    run = await ended(await start(alice, "q", pipeline="looks"), timeout_s=30)

    assert (run.status, run.error_code, looks) == ("failed", "internal", ["look"])
    assert "statement timeout" not in run.error_message


async def test_nor_is_what_a_run_looks_up_before_it_lets_something_through() -> None:
    """The lookups waits for a database that is away, not for a statement that its role may not take so long for."""

    @asynccontextmanager
    async def hurried() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as made:
            await made.execute("SET statement_timeout = 50")
            yield made

    async def ask(made: psycopg.AsyncConnection[Any]) -> None:
        await made.execute("SELECT pg_sleep(5)")

    async with asyncio.timeout(10):
        with pytest.raises(psycopg.errors.QueryCanceled):
            await Lookups(hurried).read(ask)
