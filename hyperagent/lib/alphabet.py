"""Names in the order in which people look for them: whatever their case and accents, on every Postgres.

By a key, for not every Postgres has collations of a language: the packaged one is built without ICU, and one of one's
own may have been made with any locale.
"""

from typing import Any

from django.db.models import Func, TextField


class _Key(Func):
    """`Ärzte` as `arzte`. The codes are those of the accents that stand by themselves once letters are taken apart."""

    template = (
        "lower(regexp_replace(normalize((%(expressions)s) COLLATE \"default\", NFD), '[\\u0300-\\u036f]', '', 'g'))"
    )
    output_field = TextField()


def by_name(name: str) -> tuple[Any, ...]:
    """For `order_by`, by this column. Names that differ in case or accents alone: in an order of their own."""
    return _Key(name), name
