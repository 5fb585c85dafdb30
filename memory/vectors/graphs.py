"""Owners of very many vectors: a graph (HNSW) over each one's own, so that a search need not read all of them. Builds
it, measures it against the exact answer, and takes it away where it is not good enough. Finds nothing for a search.

Measured with 100,000 vectors of 384 dimensions: 6 ms by the graph, 50 to 90 ms by reading all. For a question that has
to do with what the owner has, the graph finds all that there is; for one that has not, 83 to 96 of 100, whatever it is
built with. So a graph is used where its best hit is close enough, and all is read where it is not: how close that must
be is measured.
"""

import hashlib
import logging
import math
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, connection

from memory.models import VectorGraph
from memory.vectors.nearest import SEARCHED, WINDOWS, of_length
from memory.vectors.writing import literal

log = logging.getLogger(__name__)

WORTH_IT: Final = 20_000
"""Vectors of one owner and model; below, reading all is as fast."""
GONE_BELOW: Final = 10_000
LOOK_AGAIN_AT: Final = 1.3
"""How many times as many vectors as when it was last measured call for measuring it again."""
RECALL: Final = 0.995
"""Of the nearest WANTED rows, when as many more are asked for as a search does; it shall have 0.99."""
WANTED: Final = 20
QUESTIONS: Final = 64
IN_A_ROW: Final = 8
NEVER: Final = 2.0
"""No cosine is that high."""
# pgvector's graphs take no more.
MOST_DIMENSIONS: Final = 4_000
# What may stand in an index's definition; so are all names that a provider gave so far.
_PLAIN: Final = re.compile(r"[\w./:@-]+")
_OWNERS: Final = """
    SELECT owner_id, sum(total_chunks) FROM memory_document WHERE status = 'ready' GROUP BY owner_id
    HAVING sum(total_chunks) >= %s / 5
"""
_COUNT: Final = "SELECT count(*) FROM memory_vector WHERE model = %s AND owner_id = %s"
_BUILD: Final = """
    CREATE INDEX CONCURRENTLY {name} ON memory_vector
     USING hnsw ((embedding::halfvec({dimensions})) halfvec_ip_ops) WITH (m = 16, ef_construction = 128)
     WHERE model = '{model}' AND owner_id = '{owner}'
"""
_SOME: Final = "SELECT embedding::text FROM memory_vector WHERE {of_owner} ORDER BY random() LIMIT %s"
_EXACT: Final = """
    SELECT v.chunk_key, v."window" FROM memory_vector v WHERE {of_owner} AND {of_length}
     ORDER BY v.embedding <#> %s::halfvec LIMIT %s
"""
_BY_GRAPH: Final = """
    SELECT chunk_key, "window", -(embedding::halfvec({dimensions}) <#> %s::halfvec({dimensions})) FROM memory_vector
     WHERE {of_owner} ORDER BY embedding::halfvec({dimensions}) <#> %s::halfvec({dimensions}) LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Owned:
    model: str
    owner_id: UUID
    dimensions: int

    @property
    def index(self) -> str:
        return f"memory_graph_{hashlib.sha256(f'{self.owner_id} {self.model}'.encode()).hexdigest()[:24]}"


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one question: how close the graph's best hit was, and which share of the nearest it found."""

    best: float
    recall: float


def tend(model: str, dimensions: int) -> None:
    """Builds what is missing, measures what has grown, drops what is not worth it any more. Minutes for each owner that
    is new to it; call it from a thread with a connection of its own, outside a transaction."""
    if not 0 < dimensions <= MOST_DIMENSIONS or not _PLAIN.fullmatch(model):
        return
    with _only_one() as is_alone:
        if is_alone:
            owned = [Owned(model, owner_id, dimensions) for owner_id in _large_owners()]
            _drop_what_is_left_over(model, wanted=[one.index for one in owned])
            for one in owned:
                _tend_one(one)


def close_enough(measured: Sequence[Measured]) -> float | None:
    """The least closeness of a best hit down to which the graph finds RECALL of the nearest, of every few questions in
    a row; None if it never does."""
    ordered = sorted(measured, key=lambda one: -one.best)
    found = None
    for end in range(IN_A_ROW, len(ordered) + 1):
        some = ordered[end - IN_A_ROW : end]
        if sum(one.recall for one in some) / IN_A_ROW < RECALL:
            return found
        found = some[-1].best
    return found


def _large_owners() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_OWNERS, [WORTH_IT])
        return [row[0] for row in cursor.fetchall()]


def _tend_one(owned: Owned) -> None:
    rows = _count(owned)
    known = VectorGraph.objects.filter(index=owned.index).first()
    if rows < WORTH_IT or (known is not None and rows < known.rows * LOOK_AGAIN_AT):
        return
    if not _exists(owned.index):
        log.info("a graph over %d vectors of %s is built", rows, owned.owner_id)
        with connection.cursor() as cursor:
            cursor.execute("SET max_parallel_maintenance_workers = 0")
            cursor.execute("SET maintenance_work_mem = '256MB'")
            cursor.execute(
                _BUILD.format(name=owned.index, dimensions=owned.dimensions, model=owned.model, owner=owned.owner_id)
            )
    # Without its row no search uses it.
    threshold = close_enough(_measure(owned))
    log.info("the graph of %s is good from a closeness of %s on", owned.owner_id, threshold)
    VectorGraph.objects.update_or_create(
        index=owned.index,
        defaults={
            "model": owned.model,
            "owner_id": owned.owner_id,
            "rows": rows,
            # Never good enough: the row stays, so that it is not built anew at every look, and no hit is that close.
            "close_enough": NEVER if threshold is None else threshold,
        },
    )
    if threshold is None:
        _drop(owned.index)


def _measure(owned: Owned) -> list[Measured]:
    """By questions of all kinds: from what the owner has to what has nothing to do with it."""
    with connection.cursor() as cursor:
        cursor.execute(_SOME.format(of_owner=_of_owner(owned)), [QUESTIONS])
        stored = [[float(value) for value in row[0].strip("[]").split(",")] for row in cursor.fetchall()]
        return [_measured(cursor, owned, question) for question in _questions(stored, owned.dimensions)]


def _questions(stored: Sequence[Sequence[float]], dimensions: int) -> list[list[float]]:
    """Each a stored vector with more and more of a random direction in it."""
    chance = random.Random(dimensions)  # noqa: S311 - nothing secret
    found = []
    for number, vector in enumerate(stored):
        share = 0.3 + 0.7 * number / len(stored)
        noise = [chance.gauss(0, 1 / math.sqrt(dimensions)) for _ in range(dimensions)]
        mixed = [(1 - share) * one + share * other for one, other in zip(vector, noise, strict=True)]
        length = math.hypot(*mixed)
        found.append([value / length for value in mixed])
    return found


def _measured(cursor: Any, owned: Owned, question: Sequence[float]) -> Measured:
    asked = literal(question)
    exactly = _EXACT.format(of_owner=_of_owner(owned), of_length=of_length(owned.dimensions))
    cursor.execute(exactly, [asked, WANTED])
    exact = set(cursor.fetchall())
    cursor.execute("SELECT set_config('hnsw.ef_search', %s, false)", [str(SEARCHED)])
    by_graph = _BY_GRAPH.format(of_owner=_of_owner(owned), dimensions=owned.dimensions)
    cursor.execute(by_graph, [asked, asked, WANTED * WINDOWS])
    rows = cursor.fetchall()
    return Measured(
        best=max((row[2] for row in rows), default=-1.0),
        recall=len(exact & {(row[0], row[1]) for row in rows}) / max(1, len(exact)),
    )


def _drop_what_is_left_over(model: str, *, wanted: Sequence[str]) -> None:
    """Graphs of other models, of owners who have less now, and those whose building was broken off. One that was built
    to its end after its process had died is only measured."""
    for graph in VectorGraph.objects.all():
        if graph.model != model or _count(Owned(graph.model, graph.owner_id, 0)) < GONE_BELOW:
            _drop(graph.index)
            graph.delete()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indrelid = 'memory_vector'::regclass AND starts_with(c.relname, 'memory_graph_')"
            " AND NOT EXISTS (SELECT FROM memory_vectorgraph g WHERE g.index = c.relname)"
            " AND NOT (i.indisvalid AND c.relname = ANY(%s)) AND c.relkind = 'i'",
            [list(wanted)],
        )
        names = [row[0] for row in cursor.fetchall()]
    for name in names:
        _drop(name)


def _exists(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        return bool(cursor.fetchone()[0])


def _drop(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _count(owned: Owned) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [owned.model, owned.owner_id])
        return int(cursor.fetchone()[0])


def _of_owner(owned: Owned) -> str:
    return f"model = '{owned.model}' AND owner_id = '{owned.owner_id}'"


@contextmanager
def _only_one() -> Iterator[bool]:
    """Two graphs of one table cannot be built at once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended('memory_graphs', 0))")
        is_alone = bool(cursor.fetchone()[0])
        try:
            yield is_alone
        finally:
            if is_alone:
                with suppress(DatabaseError):
                    cursor.execute("SELECT pg_advisory_unlock(hashtextextended('memory_graphs', 0))")
