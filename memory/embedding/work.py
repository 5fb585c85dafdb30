"""One batch after another: what waits gets its vectors, each batch in one transaction. Knows no process and no Redis.

Two processes share the work by advisory locks, which hold for a batch and are gone with the connection; what both did
all the same is stored once.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from memory.embedding import chosen, waiting
from memory.embedding.model import EmbeddingModel, Pulse, TextRefused, Unusable, Vector
from memory.embedding.paying import Unaffordable
from memory.telling import tell
from memory.vectors import writing

log = logging.getLogger(__name__)
TOLD_EVERY_S: Final = 1.0
# Of thousands that wait for the same, an open page hears of so many; the others say it when they are looked at.
TOLD_AT_ONCE: Final = 32
# A document that could not be done is not looked at for so long; others are.
REST_S: Final = 60.0
# A memory or a description that the model refused by itself.
REFUSED_REST_S: Final = 3_600.0


class Work:
    """`step` does one batch. Of one model, and for as long as that is made use of: it remembers who rests."""

    def __init__(self, model: EmbeddingModel, pulse: Pulse = lambda: None) -> None:
        self.model = model
        self.windows_stored = 0
        self._pulse = pulse
        # Documents, memories, and people whose budget is used up.
        self._resting: dict[UUID, float] = {}
        # Memories and documents of which one was refused, nobody knows which: each is tried alone.
        self._apart: set[UUID] = set()
        self._told: dict[UUID, float] = {}

    def step(self) -> bool:
        """False if nothing waits, or others are at all of it. Raises Unusable, and Stopped from the pulse."""
        now = time.monotonic()
        self._resting = {id_: until for id_, until in self._resting.items() if until > now}
        return self._memories() or self._chunks() or self._descriptions() or self._old_vectors()

    @property
    def is_resting(self) -> bool:
        """Whether something that waits is not looked at for now."""
        return bool(self._resting)

    def _vectors_of(self, found: list[waiting.Said]) -> list[Vector] | None:
        """None where their owner cannot pay for them, whose others rest too, and where one of several is refused: each
        is tried alone then. One that is refused alone rests for long, and holds up nobody."""
        try:
            windows = self.model.windows([one.text for one in found], self._pulse, payer=found[0].owner)
        except Unaffordable as error:
            self._rest(found[0].owner, error)
            return None
        except TextRefused:
            if len(found) == 1:
                self._resting[found[0].id] = time.monotonic() + REFUSED_REST_S
                raise
            self._apart |= {one.id for one in found}
            return None
        self._apart -= {one.id for one in found}
        return [some[0] for some in windows]

    def _together(self, found: list[waiting.Said]) -> list[waiting.Said]:
        """Those that are tried at once."""
        return [one for one in found if one.id in self._apart][:1] or found

    def _rest(self, owner: UUID, why: Unusable) -> None:
        self._resting[owner] = time.monotonic() + REST_S
        log.warning("no vectors for now: %s", why)
        self._say_why(why, owner=owner)

    def _say_why(self, why: Unusable, *, owner: UUID | None = None) -> None:
        with transaction.atomic():
            for document_id in waiting.delay(str(why), owner=owner)[:TOLD_AT_ONCE]:
                tell(document_id)

    def _memories(self) -> bool:
        found = self._together(waiting.memories(self.model.name, without=[*self._resting]))
        if not found:
            return False
        vectors = self._vectors_of(found)
        if vectors is None:
            return True
        with transaction.atomic(), connection.cursor() as cursor:
            writing.settle_length(cursor, model=self.model.name, dimensions=len(vectors[0]))
        for memory, vector in zip(found, vectors, strict=True):
            # Each by itself: their owner may be holding several of them, to forget them, in another order.
            waiting.remember(memory, model=self.model.name, vector=writing.literal(vector))
        return True

    def _chunks(self) -> bool:
        for document_id in waiting.documents(self.model.name, without=[*self._resting]):
            if document_id not in self._resting and self._chunks_of(document_id):
                return True
        return False

    def _chunks_of(self, document_id: UUID) -> bool:
        """One batch of the document; true if one was done, or the document is."""
        if self._finish(document_id):
            return True
        for block in waiting.blocks(document_id, self.model.name, size=self.model.chunks_at_once):
            if document_id in self._resting:
                break
            with _alone(f"{document_id} {self.model.name} {block}") as is_alone:
                if is_alone and self._block(document_id, block):
                    self._finish(document_id)
                    return True
        return False

    def _block(self, document_id: UUID, block: int) -> bool:
        """False if others were faster with all of it."""
        size = self.model.chunks_at_once
        texts = waiting.chunks(document_id, self.model.name, block=block, size=size)
        if not texts:
            return False
        try:
            windows = self.model.windows([one.text for one in texts], self._pulse, payer=texts[0].owner)
        except Unaffordable as error:
            self._resting[document_id] = time.monotonic() + REST_S
            self._rest(texts[0].owner, error)
            return False
        except Unusable as error:
            self._resting[document_id] = time.monotonic() + REST_S
            self._say_why(error)
            raise
        vectors = {one.key: some for one, some in zip(texts, windows, strict=True)}
        with transaction.atomic(), connection.cursor() as cursor:
            done = writing.store(cursor, model=self.model.name, document_id=document_id, vectors=vectors)
            waiting.count(document_id, done)
            self._tell(document_id)
        self.windows_stored += sum(map(len, windows))
        return True

    def _finish(self, document_id: UUID) -> bool:
        with transaction.atomic():
            if not waiting.finish(document_id, self.model.name):
                return False
            self._told.pop(document_id, None)
            tell(document_id)
        return True

    def _tell(self, document_id: UUID) -> None:
        """Not more than people can follow."""
        now = time.monotonic()
        if now - self._told.get(document_id, 0.0) >= TOLD_EVERY_S:
            self._told = {id_: at for id_, at in self._told.items() if now - at < TOLD_EVERY_S} | {document_id: now}
            tell(document_id)

    def _descriptions(self) -> bool:
        found = self._together(waiting.descriptions(self.model.name, without=[*self._resting]))
        if not found:
            return False
        vectors = self._vectors_of(found)
        if vectors is None:
            return True
        with transaction.atomic(), connection.cursor() as cursor:
            for one, vector in zip(found, vectors, strict=True):
                writing.store_document(
                    cursor, model=self.model.name, document_id=one.id, text_hash=one.hash, vector=vector
                )
        return True

    def _old_vectors(self) -> bool:
        """Once every document has the current model's, those of the others go."""
        names = [known.name for known in chosen.models_in_use()]
        if len(names) < 2 or names[0] != self.model.name or not waiting.have_all(self.model.name):
            return False
        with transaction.atomic(), connection.cursor() as cursor:
            if writing.drop_some_of(cursor, names[-1]):
                chosen.forget(names[-1])
                log.info(
                    "the vectors of the embedding model %s are gone; all documents have those of %s",
                    names[-1],
                    names[0],
                )
        return True


@contextmanager
def _alone(what: str) -> Iterator[bool]:
    """Whether nobody else is at it. Held by the connection, so that it ends with its process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [what])
        is_alone = bool(cursor.fetchone()[0])
    try:
        yield is_alone
    finally:
        # A connection that is gone has none.
        if is_alone and connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [what])
