"""Which models have vectors in the tables, and which is the current one: that of the embedder that was started last
with another name. Makes no vector."""

from dataclasses import dataclass

from django.db import connection, transaction

from hyperagent.lib import rows
from memory.kinds import DocumentStatus
from memory.models import Document, EmbeddingModel


@dataclass(frozen=True, slots=True)
class Known:
    """`dimensions`: 0 until the first vector is stored. `problem`: a sentence for people; empty when all is well."""

    name: str
    dimensions: int
    problem: str


def choose(name: str) -> None:
    """Makes it the current one. Once it is, the documents get its vectors, and are found by the old ones meanwhile."""
    with transaction.atomic():
        known = models_in_use()
        if known and known[0].name == name:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO memory_embeddingmodel (name, dimensions, chosen_at, problem)"
                " VALUES (%s, 0, clock_timestamp(), '')"
                " ON CONFLICT (name) DO UPDATE SET chosen_at = clock_timestamp(), problem = ''",
                [name],
            )
        # What half a document has of another model is not counted.
        Document.objects.filter(status=DocumentStatus.EMBEDDING).update(chunks_embedded=0)


def models_in_use() -> list[Known]:
    """The current one first."""
    found = rows.execute("SELECT name, dimensions, problem FROM memory_embeddingmodel ORDER BY chosen_at DESC", [])
    return [Known(*row) for row in found.fetchall()]


def note_problem(name: str, problem: str) -> None:
    """A sentence for people; empty when all is well again."""
    EmbeddingModel.objects.filter(name=name).exclude(problem=problem).update(problem=problem)


def forget(name: str) -> None:
    """A model that has no vectors any more."""
    EmbeddingModel.objects.filter(name=name).delete()
