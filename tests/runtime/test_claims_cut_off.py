"""A connection that breaks in the midst of a claim: the claim is made again, and each run is driven by one driver."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.db import connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from agents.runtime.context import AgentContext
from tests.runtime.driving import Runners, database_dsn, ended, start, until
from tests.runtime.test_waiting import NO_MODEL, PROGRAMS, answer, request_of, waiting

pytestmark = [pytest.mark.spec("B1"), pytest.mark.django_db(transaction=True)]

# At the commit, so that the run has begun. A number that is taken stays taken where all else is rolled back.
CUT_ONCE = """
CREATE SEQUENCE claims_cut;
CREATE FUNCTION cut_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = 'pending' AND NEW.status = 'running' AND nextval('claims_cut') = 1 THEN
        PERFORM pg_sleep(0.3);
        PERFORM pg_terminate_backend(pg_backend_pid());
        PERFORM pg_sleep(10);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER cut_claim AFTER UPDATE ON agents_execution DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION cut_claim();
"""
MEND = "DROP TRIGGER cut_claim ON agents_execution; DROP FUNCTION cut_claim; DROP SEQUENCE claims_cut"


@pytest.fixture
def first_claim_is_cut(transactional_db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(CUT_ONCE)
    yield
    with connection.cursor() as cursor:
        cursor.execute(MEND)


async def drivers_of(id_: Any) -> int:
    return sum(task.get_name() == f"run {id_}" for task in asyncio.all_tasks())


async def test_the_driver_of_a_claim_that_came_to_nothing_does_not_give_up_the_next(
    first_claim_is_cut: None, alice: Any, make_runner: Runners
) -> None:
    """The second claim has the number of the first; and the first driver needs a while to come to its end."""
    begun: list[AgentContext] = []
    again = asyncio.Event()

    async def program(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        begun.append(context)
        if len(begun) == 1:
            try:
                await asyncio.Event().wait()
            finally:
                await again.wait()
        again.set()

        async def is_alone() -> bool:
            return await drivers_of(context.run.execution_id) == 1

        await until(is_alone)
        return {"answer": f"of driver {len(begun)}", "sources": []}

    await make_runner(NO_MODEL, lease_s=3600, extra={"begins": program})
    run = await ended(await start(alice, "q", pipeline="begins"))

    assert (run.answer, run.epoch, len(begun)) == ("of driver 2", 1, 2)


async def test_a_claim_of_which_nobody_heard_that_it_came_to_something_is_made_anew_at_once(
    alice: Any, make_runner: Runners
) -> None:
    """No lease runs out here within an hour."""

    async def program(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        return {"answer": "here", "sources": []}

    id_ = await start(alice, "q", pipeline="begins")
    async with deaf_after_a_claim_of(b"begins") as dsn:
        await make_runner(NO_MODEL, lease_s=3600, extra={"begins": program}, dsn=dsn)
        run = await ended(id_)
        await make_runner.stop()

    assert (run.status, run.answer, run.crashes, run.epoch) == ("completed", "here", 0, 2)


async def test_nor_does_an_answered_run_wait_for_a_lease_of_which_nobody_heard(
    alice: Any, make_runner: Runners
) -> None:
    await make_runner(NO_MODEL, extra=PROGRAMS)
    id_ = await start(alice, "May I?", pipeline="asks")
    await waiting(id_)
    await make_runner.stop()
    await answer(await request_of(id_), alice)

    async with deaf_after_a_claim_of(b"asks") as dsn:
        await make_runner(NO_MODEL, name="runner-2", lease_s=3600, extra=PROGRAMS, dsn=dsn)
        run = await ended(id_)
        await make_runner.stop()

    assert (run.status, run.answer, run.crashes, run.epoch) == ("completed", "They said yes", 0, 3)


@asynccontextmanager
async def deaf_after_a_claim_of(pipeline: bytes) -> AsyncIterator[str]:
    """A way to the database on which nobody hears that their claim of such a run was committed; only the first time."""
    was_cut = False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await _connected()
        has_claimed = is_deaf = False

        async def ask() -> None:
            nonlocal is_deaf, was_cut
            while said := await reader.read(1 << 16):
                if has_claimed and b"COMMIT" in said and not was_cut:
                    is_deaf = was_cut = True
                to_server.write(said)
            to_server.close()

        async def answer() -> None:
            nonlocal has_claimed
            while (said := await from_server.read(1 << 16)) and not is_deaf:
                has_claimed = has_claimed or pipeline in said
                writer.write(said)
            writer.close()

        await asyncio.gather(ask(), answer(), return_exceptions=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    yield make_conninfo(database_dsn(), host=host, port=port, sslmode="disable", gssencmode="disable")
    server.close()
    assert was_cut


async def _connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    said = conninfo_to_dict(database_dsn())
    host, port = str(said.get("host", "127.0.0.1")), int(said.get("port") or 5432)
    if host.startswith("/"):
        return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
    return await asyncio.open_connection(host, port)
