"""Names and titles that have all of these words, without regard to case and accents: a reading through a bounded set
of rows, for which no index is kept.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from django.db.models import F, Func, Model, QuerySet, TextField, Value
from django.db.models.functions import Concat

M = TypeVar("M", bound=Model)


class Folded(Func):
    """As `memory.words.tokens.fold` does it, in SQL: there is no unaccent in every Postgres."""

    # What is ASCII needs the half of it, which is most of what there is, in a tenth of the time.
    template = (
        "CASE WHEN octet_length(%(expressions)s) = length(%(expressions)s) THEN lower(%(expressions)s) ELSE "
        "replace(lower(normalize(regexp_replace(normalize(%(expressions)s, NFKD), "
        "'[\\u0300-\\u036f]', '', 'g'), NFC)), 'ß', 'ss') END"
    )
    arity = 1
    output_field = TextField()

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **more: Any) -> tuple[str, Any]:
        """The expression stands there four times, and so do its values."""
        sql, values = super().as_sql(compiler, connection, *args, **more)
        return sql, tuple(values) * 4


def having(rows: QuerySet[M], fields: Sequence[str], said: Iterable[str]) -> QuerySet[M]:
    """Those of the rows whose fields together have each of these stretches, folded as they are. None of them: none."""
    stretches = list(said)
    if not stretches:
        return rows.none()
    parts: list[Any] = [F(fields[0])]
    for name in fields[1:]:
        parts += [Value(" "), F(name)]
    text = Concat(*parts, output_field=TextField()) if len(parts) > 1 else F(fields[0])
    found: Any = rows.alias(folded=Folded(text))
    for stretch in stretches:
        found = found.filter(folded__contains=stretch)
    narrowed: QuerySet[M] = found
    return narrowed
