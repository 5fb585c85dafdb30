"""Rows read and written by SQL that is ready, where people wait for them: to put a query together takes Django longer
than the database takes to run it. What comes of it is what Django's own ways give; those stay the rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.models import Field, Model


@contextmanager
def together() -> Iterator[None]:
    """Within it a statement is sent and not waited for; who reads what one gives waits for that one alone. For use
    within a transaction: what is wrong with a statement is raised where the next one is read, at the latest at the end.
    """
    own = connections[DEFAULT_DB_ALIAS]
    own.ensure_connection()
    with own.wrap_database_errors, own.connection.pipeline():
        yield


def execute(sql: str, values: Sequence[Any] | Mapping[str, Any]) -> Any:
    """The cursor of a statement of which the text is always the same: where its connection is nobody else's
    (`prepare_threshold` in the settings), Postgres parses and plans it once, not each time. Types that are not plain
    from its place a parameter has to name."""
    own = connections[DEFAULT_DB_ALIAS]
    # `cursor` would see to it too, but give up the connection that is changed below.
    own.close_if_health_check_failed()
    own.ensure_connection()
    usual, own.connection.cursor_factory = own.connection.cursor_factory, ServerBindingCursor
    try:
        cursor = own.cursor()
    finally:
        own.connection.cursor_factory = usual
    cursor.execute(sql, values)
    return cursor


@cache
def columns(model: type[Model], table: str) -> str:
    """For a SELECT: what `read` makes an object of. `table`: its name or alias in the query."""
    return ", ".join(f'{table}."{field.column}"' for field in _fields(model))


def read(values: Sequence[Any], *models: type[Model]) -> Iterator[Any]:
    """The objects that one row is, which has the `columns` of these models, one after the other. None for one without a
    key, as an outer join gives it. No query."""
    end = 0
    for model in models:
        names, key, converted = _reading(model)
        start, end = end, end + len(names)
        own = list(values[start:end])
        for place, field in converted:
            own[place] = field.from_db_value(own[place], None, connection)
        yield model.from_db(DEFAULT_DB_ALIAS, names, own) if own[key] is not None else None


def insert(*rows: Model) -> None:
    """Writes new rows of one model, which know their keys. One statement; no signals, as with `bulk_create`."""
    fields = _fields(type(rows[0]))
    # Not by the name that finds each thread's own: every field asks it for several things.
    own = connections[DEFAULT_DB_ALIAS]
    values = [field.get_db_prep_save(field.pre_save(one, True), own) for one in rows for field in fields]
    execute(_inserting(type(rows[0]), len(rows)), values)
    for one in rows:
        one._state.adding, one._state.db = False, DEFAULT_DB_ALIAS


@cache
def _fields(model: type[Model]) -> "tuple[Field[Any, Any], ...]":
    return tuple(model._meta.concrete_fields)


@cache
def _reading(model: type[Model]) -> tuple[list[str], int, list[tuple[int, Any]]]:
    """The names of the columns, the place of the key, and those that Django reads in a way of their own."""
    fields = _fields(model)
    converted = [(place, field) for place, field in enumerate(fields) if hasattr(field, "from_db_value")]
    return [field.attname for field in fields], fields.index(model._meta.pk), converted


@cache
def _inserting(model: type[Model], rows: int) -> str:
    fields = _fields(model)
    names = ", ".join(f'"{field.column}"' for field in fields)
    one = f"({', '.join(['%s'] * len(fields))})"
    return f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES {", ".join([one] * rows)}'
