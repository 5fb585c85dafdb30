"""Rows read and written by SQL that is ready, where people wait for them: to put a query together takes Django longer
than the database takes to run it. What comes of it is what Django's own ways give; those stay the rule.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Field, Model


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
        yield model.from_db(connection.alias, names, own) if own[key] is not None else None


def insert(*rows: Model) -> None:
    """Writes new rows of one model, which know their keys. One statement; no signals, as with `bulk_create`."""
    fields = _fields(type(rows[0]))
    values = [field.get_db_prep_save(field.pre_save(one, True), connection) for one in rows for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(_inserting(type(rows[0]), len(rows)), values)
    for one in rows:
        one._state.adding, one._state.db = False, connection.alias


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
