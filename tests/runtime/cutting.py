"""Connections that break at a certain statement."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from tests.runtime.driving import database_dsn, until

_CUT_OFF = """
SELECT count(pg_terminate_backend(pid)) FROM pg_locks
WHERE relation = %s::regclass AND NOT granted AND pid <> pg_backend_pid()
"""


@asynccontextmanager
async def cut_off_at(table: str) -> AsyncIterator[None]:
    """Whoever comes to this table within it loses the connection there; it ends once somebody has."""
    connect = psycopg.AsyncConnection.connect
    async with await connect(database_dsn()) as holding, await connect(database_dsn(), autocommit=True) as cutting:
        await holding.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield

        async def is_cut_off() -> bool:
            row: Any = await (await cutting.execute(_CUT_OFF, [table])).fetchone()
            return bool(row[0])

        await until(is_cut_off)
