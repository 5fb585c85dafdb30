"""Owners of very many vectors: a sketch of each, so that a search need not read all of them. Makes them, measures what
they find against the exact answer, and takes them away where there are fewer. Finds nothing for a search.

A document has sketches of all its vectors of a model or of none. They are made here, under a lock on its row, of a
document that is ready; whoever stores another vector for it (`writing.store`) or drops what was read of it drops them.
"""

import logging
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from memory.models import SketchedOwner
from memory.vectors.nearest import of_length
from memory.vectors.sketched import A_ROW, CANDIDATES, COLUMNS, asked, sketch_of, sketches_a_row
from memory.vectors.writing import literal

log = logging.getLogger(__name__)

WORTH_IT: Final = 20_000
"""Vectors of one owner and model; below, reading all is as fast."""
GONE_BELOW: Final = 10_000
LOOK_AGAIN_AT: Final = 1.3
"""How many times as many vectors as when it was last measured call for measuring it again."""
CANDIDATES_TRIED: Final = (500, 700, 1_000, 1_500, 2_000, 4_000)
RECALL: Final = 0.99
"""Of the chunks of the nearest WANTED rows, of near questions and of far ones."""
WANTED: Final = 10
QUESTIONS: Final = 64
OF_A_KIND: Final = 32
MOST_DIMENSIONS: Final = 4_000
"""A row has room for two of them."""
DOCUMENTS_AT_ONCE: Final = 200
_OWNERS: Final = """
    SELECT owner_id, sum(total_chunks) FROM memory_document WHERE status = 'ready' GROUP BY owner_id
    HAVING sum(total_chunks) >= %s / 5
"""
_COUNT: Final = "SELECT count(*) FROM memory_vector WHERE model = %(model)s AND owner_id = %(user)s"
# A ready document gets no vector by anybody who does not hold its row.
_BARE: Final = """
    SELECT id FROM memory_document d WHERE owner_id = %(user)s AND status = 'ready' AND embedded_by = %(model)s
       AND NOT EXISTS (SELECT FROM memory_vectorsketch k WHERE k.document_id = d.id AND k.model = %(model)s)
     ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
"""
_SKETCH: Final = """
    INSERT INTO memory_vectorsketch (document_id, model, part, owner_id, keys, {columns})
    SELECT document_id, %(model)s, number / {a_row}, owner_id, array_agg(chunk_key ORDER BY number), {sketches}
      FROM (SELECT v.document_id, v.owner_id, v.chunk_key, {sketch} AS sketch,
                   row_number() OVER (PARTITION BY v.document_id ORDER BY v.chunk_key, v."window") - 1 AS number
              FROM memory_vector v
             WHERE v.model = %(model)s AND v.owner_id = %(user)s AND v.document_id = ANY(%(documents)s)) numbered
     GROUP BY document_id, owner_id, number / {a_row} ORDER BY document_id, 3
"""
_SOME: Final = """
    SELECT embedding::text FROM memory_vector WHERE model = %(model)s AND owner_id = %(user)s
     ORDER BY random() LIMIT %(limit)s
"""
_EXACT: Final = """
    SELECT v.chunk_key FROM memory_vector v WHERE v.model = %(model)s AND v.owner_id = %(user)s AND {of_length}
     ORDER BY v.embedding <#> %(query)s::halfvec LIMIT %(limit)s
"""
_BY_SKETCH: Final = f"""
    WITH {CANDIDATES.format(owner="%(user)s", wanted=CANDIDATES_TRIED[-1], seen="")}
    SELECT key FROM candidate ORDER BY far
"""


@dataclass(frozen=True, slots=True)
class Owned:
    model: str
    owner_id: UUID
    dimensions: int

    @property
    def parameters(self) -> dict[str, Any]:
        return {"model": self.model, "user": self.owner_id}


def tend(model: str, dimensions: int) -> None:
    """Makes what is missing, measures what has grown, drops what is not worth it any more. Seconds for each owner that
    is new to it; call it from a thread with a connection of its own, outside a transaction."""
    if not 0 < dimensions <= MOST_DIMENSIONS:
        return
    with _only_one() as is_alone:
        if is_alone:
            _drop_what_is_left_over(model)
            for owner_id in _large_owners():
                _tend_one(Owned(model, owner_id, dimensions))


def enough(ranks: Sequence[Sequence[int]]) -> int:
    """How many candidates find RECALL of the nearest, of every few questions; 0 if no number that is tried does.

    `ranks`: of each question, the places of its nearest among the candidates; those of a kind stand together.
    """
    kinds = [ranks[start : start + OF_A_KIND] for start in range(0, len(ranks), OF_A_KIND)]
    for number in CANDIDATES_TRIED:
        if all(_found(kind, number) >= RECALL for kind in kinds):
            return number
    return 0


def _found(kind: Sequence[Sequence[int]], number: int) -> float:
    places = [place for question in kind for place in question]
    return sum(place < number for place in places) / max(1, len(places))


def _large_owners() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_OWNERS, [WORTH_IT])
        return [row[0] for row in cursor.fetchall()]


def _tend_one(owned: Owned) -> None:
    rows = _count(owned)
    known = SketchedOwner.objects.filter(owner_id=owned.owner_id, model=owned.model).first()
    if rows < (GONE_BELOW if known else WORTH_IT):
        return
    is_measured = known is not None and rows < known.rows * LOOK_AGAIN_AT
    if is_measured and known is not None and known.candidates == 0:
        return
    made = make(owned)
    if made:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM (SKIP_LOCKED, ANALYZE) memory_vectorsketch")
    if is_measured:
        return
    # Without its row no search uses them.
    candidates = enough(_measure(owned))
    log.info("of %d vectors of %s the sketches' nearest %d are looked at", rows, owned.owner_id, candidates)
    SketchedOwner.objects.update_or_create(
        owner_id=owned.owner_id, model=owned.model, defaults={"rows": rows, "candidates": candidates}
    )
    if not candidates:
        # The row stays, so that they are not made anew at every look.
        _drop_sketches(owned)


def make(owned: Owned) -> int:
    """Sketches of each ready document that has none, but those that somebody holds just now. How many documents."""
    made = 0
    while some := _make_some(owned):
        made += some
    return made


def _make_some(owned: Owned) -> int:
    parts = {
        "columns": ", ".join(COLUMNS),
        "a_row": sketches_a_row(owned.dimensions),
        "sketches": ", ".join(f"(array_agg(sketch ORDER BY number))[{place}]" for place in range(1, A_ROW + 1)),
        "sketch": sketch_of("v.embedding", owned.dimensions),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_BARE, {**owned.parameters, "limit": DOCUMENTS_AT_ONCE})
        documents = [row[0] for row in cursor.fetchall()]
        if documents:
            cursor.execute(_SKETCH.format(**parts), {**owned.parameters, "documents": documents})
        # A document without any vector gets no sketch, and is not asked for again in this turn.
        return len(documents) if documents and cursor.rowcount else 0


def _measure(owned: Owned) -> list[list[int]]:
    """By questions of all kinds, from what the owner has to what has nothing to do with it: the place of each of the
    nearest among the candidates."""
    with connection.cursor() as cursor:
        cursor.execute(_SOME, {**owned.parameters, "limit": QUESTIONS})
        stored = [[float(value) for value in row[0].strip("[]").split(",")] for row in cursor.fetchall()]
        return [_ranks(cursor, owned, question) for question in _questions(stored, owned.dimensions)]


def _questions(stored: Sequence[Sequence[float]], dimensions: int) -> list[list[float]]:
    """Each a stored vector with more and more of a random direction in it; never that alone, which no text is."""
    chance = random.Random(dimensions)  # noqa: S311 - nothing secret
    found = []
    for number, vector in enumerate(stored):
        share = 0.3 + 0.5 * number / len(stored)
        noise = [chance.gauss(0, 1 / math.sqrt(dimensions)) for _ in range(dimensions)]
        mixed = [(1 - share) * one + share * other for one, other in zip(vector, noise, strict=True)]
        length = math.hypot(*mixed)
        found.append([value / length for value in mixed])
    return found


def _ranks(cursor: Any, owned: Owned, question: Sequence[float]) -> list[int]:
    exactly = _EXACT.format(of_length=of_length(owned.dimensions))
    cursor.execute(exactly, {**owned.parameters, "query": literal(question), "limit": WANTED})
    nearest = {row[0] for row in cursor.fetchall()}
    cursor.execute(_BY_SKETCH, {**owned.parameters, **asked(question)})
    places = {row[0]: place for place, row in enumerate(cursor.fetchall())}
    return [places.get(key, CANDIDATES_TRIED[-1]) for key in nearest]


def _drop_what_is_left_over(model: str) -> None:
    """Of other models, and of owners who have less now."""
    for known in SketchedOwner.objects.all():
        owned = Owned(known.model, known.owner_id, 0)
        if known.model != model or _count(owned) < GONE_BELOW:
            # First what says that they are to be read.
            known.delete()
            _drop_sketches(owned)


def _drop_sketches(owned: Owned) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM memory_vectorsketch WHERE model = %(model)s AND owner_id = %(user)s", owned.parameters
        )


def _count(owned: Owned) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, owned.parameters)
        return int(cursor.fetchone()[0])


@contextmanager
def _only_one() -> Iterator[bool]:
    """Of all embedders: two would do the same work."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended('memory_sketches', 0))")
        is_alone = bool(cursor.fetchone()[0])
        try:
            yield is_alone
        finally:
            if is_alone:
                with suppress(DatabaseError):
                    cursor.execute("SELECT pg_advisory_unlock(hashtextextended('memory_sketches', 0))")
