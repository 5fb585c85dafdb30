"""A run whose look at the database met a broken connection goes on; what the database itself refused ends it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from psycopg_pool import AsyncConnectionPool

from agents.runtime.connecting import lent
from agents.runtime.context import AgentContext
from agents.runtime.lookups import Lookups
from hyperagent.lib.threads import in_thread
from tests.runtime.driving import Runners, database_dsn, ended, events, start, until
from tests.runtime.test_waiting import NO_MODEL, PROGRAMS, answer, request_of, waiting

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


def _takes(anything: bool) -> None:
    """As where another database becomes the primary. It holds for who connects from now on."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        change = "RESET default_transaction_read_only" if anything else "SET default_transaction_read_only = on"
        cursor.execute(f"ALTER DATABASE {name} {change}")


_END = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s
"""


def _end(who: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_END, [who])


@pytest.mark.spec("B1")
async def test_a_look_that_was_cut_off_is_taken_again(alice: Any, echo_server: Any, make_runner: Any) -> None:
    await make_runner(echo_server.url, extra={"looks": _looks([], _cut_off)})
    id_ = await start(alice, "q", pipeline="looks")
    run = await ended(id_, timeout_s=30)

    assert (run.status, run.answer, run.crashes) == ("completed", "0 then, 2 now", 0)
    assert [one["reason"] for one in await events(id_) if one["type"] == "agent_shutdown"] == ["drain"]


@pytest.mark.spec("B1")
async def test_a_run_waits_while_the_database_takes_nothing(alice: Any, make_runner: Runners) -> None:
    """No lease runs out here within an hour, so nobody else could go on with it."""
    may_go_on = asyncio.Event()

    async def program(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        first = await context.note("first", lambda: 1)
        await may_go_on.wait()
        return {"answer": f"{first} and {await context.note('second', lambda: 2)}", "sources": []}

    dsn = f"{database_dsn()} application_name=primary"
    runner = await make_runner(NO_MODEL, lease_s=3600, extra={"waits": program}, dsn=dsn)
    id_ = await start(alice, "q", pipeline="waits")

    async def has_begun() -> bool:
        return "status_changed" in [event["type"] for event in await events(id_)]

    await until(has_begun)
    try:
        await sync_to_async(_takes)(False)
        await sync_to_async(_end)("primary")
        tried = runner.writer.commits
        may_go_on.set()

        async def has_tried() -> bool:
            return runner.writer.commits > tried + 1

        await until(has_tried)
    finally:
        await sync_to_async(_takes)(True)
    run = await ended(id_)

    assert (run.status, run.answer, run.crashes, run.epoch) == ("completed", "1 and 2", 0, 1)


@pytest.mark.slow
@pytest.mark.spec("B1")
async def test_a_connection_that_ended_in_the_pool_costs_no_run_anything(alice: Any, make_runner: Any) -> None:
    dsn = f"{database_dsn()} application_name=ended"
    await make_runner(NO_MODEL, lease_s=3600, extra=PROGRAMS, dsn=dsn)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)

    await sync_to_async(_end)("ended")
    await answer(await request_of(id_), alice)
    run = await ended(id_)

    assert (run.status, run.answer, run.crashes, run.epoch) == ("completed", "They said yes", 0, 2)


async def test_a_connection_on_which_the_database_takes_nothing_is_not_lent_again() -> None:
    taken = "UPDATE agents_execution SET question = '' WHERE false"
    pool = AsyncConnectionPool(database_dsn(), min_size=1, max_size=1, kwargs={"autocommit": True}, open=False)
    async with pool:
        async with lent(pool, timeout_s=10) as of_the_wrong_one:
            await of_the_wrong_one.execute("SET default_transaction_read_only = on")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            async with lent(pool, timeout_s=10) as still_of_that:
                await still_of_that.execute(taken)

        async with lent(pool, timeout_s=10) as another:
            await another.execute(taken)


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
