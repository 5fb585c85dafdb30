"""Postgres as Django has it, with a pool of connections of our own making."""

import select
from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg import Connection
from psycopg_pool import ConnectionPool


class WarmPool(ConnectionPool[Connection[Any]]):
    """Lends what came back last, where psycopg's own goes round: a connection's server process has the plans of the
    statements that it has executed often. Of the many that a busy moment made, all would learn them, one after the
    other, and forget them when they are closed."""

    def _get_ready_connection(self, timeout: float | None) -> Connection[Any] | None:
        self._pool.rotate(1)
        return super()._get_ready_connection(timeout)


def check(connection: Connection[Any]) -> None:
    """Raises if it is broken. Its server says nothing unasked but that it ends, and of one that is gone the kernel
    knows within seconds (`hyperagent.lib.patience`): only where there is something to hear is the server asked, which
    would take as long as a statement."""
    said = select.poll()
    said.register(connection.fileno(), select.POLLIN)
    if said.poll(0):
        ConnectionPool.check_connection(connection)


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> WarmPool | None:
        """As Django's; all threads of a process share the one of an alias."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        pools: dict[str, WarmPool] = self._connection_pools  # type: ignore[attr-defined]
        if self.alias not in pools:
            made = WarmPool(
                kwargs={**self.get_connection_params(), "autocommit": True},
                open=False,
                configure=self._configure_connection,  # type: ignore[attr-defined]
                check=check,
                **options,
            )
            # Of two threads that make one the first's is used.
            pools.setdefault(self.alias, made)
        return pools[self.alias]
