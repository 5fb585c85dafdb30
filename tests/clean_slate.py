"""The database between tests that commit: as the migrations left it.

Django truncates every table and makes its permissions anew, half a second for each test. Here only tables with rows are
emptied, and what the migrations put in (permissions, groups) is put back where a test changed it.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.test import TransactionTestCase
from psycopg import sql

BORN = "as_born"


def use() -> None:
    """Once for each process, when its database is migrated and no test has written to it; as a superuser."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    born = _with_rows(tables)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {BORN}")
        for table in born:
            cursor.execute(
                sql.SQL("CREATE TABLE {} AS TABLE {}").format(sql.Identifier(BORN, table), sql.Identifier(table))
            )
    others = [table for table in tables if table not in born]

    def restore(_: Any) -> None:
        _restore(others, born)

    TransactionTestCase._fixture_teardown = restore  # type: ignore[attr-defined]


def _restore(tables: Sequence[str], born: Sequence[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # Foreign keys and the triggers that keep logs from being changed are for the product.
        cursor.execute("SET LOCAL session_replication_role = replica")
        # What a thread of the test still writes is waited for, as TRUNCATE would.
        cursor.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(_names([*tables, *born])))
        for table in _with_rows(tables):
            cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        for table in born:
            if _differs(table):
                names = {"it": sql.Identifier(table), "born": sql.Identifier(BORN, table)}
                cursor.execute(sql.SQL("DELETE FROM {it}; INSERT INTO {it} TABLE {born}").format(**names))


def _with_rows(tables: Sequence[str]) -> list[str]:
    one = sql.SQL("SELECT {} WHERE EXISTS (TABLE {})")
    asked = sql.SQL(" UNION ALL ").join([one.format(sql.Literal(name), sql.Identifier(name)) for name in tables])
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return [name for (name,) in cursor.fetchall()]


def _differs(table: str) -> bool:
    names = {"it": sql.Identifier(table), "born": sql.Identifier(BORN, table)}
    asked = sql.SQL("SELECT EXISTS ((TABLE {it} EXCEPT TABLE {born}) UNION ALL (TABLE {born} EXCEPT TABLE {it}))")
    with connection.cursor() as cursor:
        cursor.execute(asked.format(**names))
        return bool(cursor.fetchone()[0])


def _names(tables: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, tables))
