"""One statement to the database, and how many rows it changed."""

from collections.abc import Sequence
from typing import Any

from django.db import connection


def changed(statement: str, values: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)
