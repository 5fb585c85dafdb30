"""`python -m benchmarks.vectors`: vector search against the exact answer, and how fast vectors are made. Prints JSON.

Vectors are made up: clusters, as the subjects of texts are, each owner with a few of them. A question is on the subject
of something that the owner has, or on one that nobody's documents are about.
"""

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

# Models exist only after Django is set up.
import numpy as np  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from benchmarks.figure import percentile  # noqa: E402
from hyperagent.accounts.models import User  # noqa: E402
from memory.embedding import chosen  # noqa: E402
from memory.embedding.asking import QueryVector  # noqa: E402
from memory.embedding.local import LocalModel  # noqa: E402
from memory.embedding.model import LOCAL  # noqa: E402
from memory.embedding.wake import wake  # noqa: E402
from memory.ids import chunk_id  # noqa: E402
from memory.models import Chunk, Document, SketchedOwner  # noqa: E402
from memory.sight import Scope  # noqa: E402
from memory.vectors import sketches  # noqa: E402
from memory.vectors.nearest import nearest  # noqa: E402
from memory.vectors.writing import literal  # noqa: E402

CHUNKS_A_DOCUMENT = 30
# Of the local model.
DIMENSIONS = 384
SUBJECTS, SUBJECTS_OF_ONE = 400, 20
# What is said of a subject differs in far fewer ways than a vector has numbers.
WAYS, SPREAD, NOISE = 64, 0.7, 0.005
WANTED = 10
NICE = 10
SENTENCE = "The turbine of plant {} was serviced in May and its bearings were replaced by the crew of station {}. "
MADE_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Owner:
    id: uuid.UUID
    keys: np.ndarray[Any, Any]
    vectors: np.ndarray[Any, Any]
    """(n, DIMENSIONS), unit length, as halves have them."""
    subjects: np.ndarray[Any, Any]


class World:
    """Everybody's vectors, in the tables and at hand."""

    def __init__(self, chunks_of: Sequence[int]) -> None:
        self.chance = np.random.default_rng(7)
        self.subjects = _unit(self.chance.normal(size=(SUBJECTS, DIMENSIONS)))
        self.ways = _unit(self.chance.normal(size=(WAYS, DIMENSIONS)))
        chosen.choose(LOCAL)
        self.owners = [self._owner(count) for count in chunks_of]
        with connection.cursor() as cursor:
            cursor.execute("UPDATE memory_embeddingmodel SET dimensions = %s", [DIMENSIONS])
            cursor.execute("VACUUM ANALYZE memory_vector")
            cursor.execute("VACUUM ANALYZE memory_document")

    def question(self, owner: Owner, *, on_topic: bool) -> np.ndarray[Any, Any]:
        if on_topic:
            middle = owner.vectors[self.chance.integers(len(owner.vectors))]
        else:
            middle = _unit(self.chance.normal(size=(1, DIMENSIONS)))[0]
        return self._said_of(middle[None])[0]  # type: ignore[no-any-return]

    def _said_of(self, middles: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        ways = self.chance.normal(0, SPREAD / WAYS**0.5, (len(middles), WAYS)) @ self.ways
        return _unit(middles + ways + self.chance.normal(0, NOISE, middles.shape))

    def _owner(self, count: int) -> Owner:
        user = User.objects.create(email=f"{uuid.uuid4().hex}@example.org")
        subjects = self.chance.choice(SUBJECTS, SUBJECTS_OF_ONE, replace=False)
        middles = self.subjects[self.chance.choice(subjects, count)]
        vectors = self._said_of(middles).astype(np.float16)
        keys = np.array(
            [key for start in range(0, count, CHUNKS_A_DOCUMENT) for key in self._document(user, count, start)]
        )
        documents = dict(Chunk.objects.filter(document__owner=user).values_list("key", "document_id"))
        with connection.cursor() as cursor:
            columns = 'chunk_key, model, "window", owner_id, document_id, embedding'
            with cursor.copy(f"COPY memory_vector ({columns}) FROM STDIN") as copy:
                for key, vector in zip(keys.tolist(), vectors.tolist(), strict=True):
                    copy.write_row((key, LOCAL, 0, user.pk, documents[key], literal(vector)))
        return Owner(user.pk, keys, vectors.astype(np.float32), subjects)

    def _document(self, user: User, count: int, start: int) -> list[int]:
        size = min(CHUNKS_A_DOCUMENT, count - start)
        document = _document(user, size, status="ready", embedded_by=LOCAL, chunks_embedded=size)
        return _chunks(document, ["a passage"] * size)


def _unit(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _document(user: User, chunks: int, **fields: Any) -> Document:
    return Document.objects.create(
        owner=user, filename="a.txt", sha256=uuid.uuid4().hex * 2, total_chunks=chunks, **fields
    )


def _chunks(document: Document, texts: Sequence[str]) -> list[int]:
    """Their keys."""
    made = Chunk.objects.bulk_create(
        [
            Chunk(
                chunk_id=chunk_id(document.pk, number), document=document, ordinal=number, text=text, start=0,
                end=len(text), page=1, last_page=1, kind="paragraph", tokens=len(text.split()),
            )
            for number, text in enumerate(texts)
        ]
    )  # fmt: skip
    return [chunk.key for chunk in made]


def search_figures(world: World, questions: int) -> dict[str, Any]:
    """By the number of chunks of the owner: milliseconds (p50) and the recall of the nearest ten, on topic and off."""
    by_size: dict[int, dict[str, list[float]]] = {}
    for owner in world.owners:
        seen = by_size.setdefault(len(owner.keys), {"on_ms": [], "off_ms": [], "on_recall": [], "off_recall": []})
        for number in range(questions):
            kind = "on" if number % 2 else "off"
            question = world.question(owner, on_topic=kind == "on")
            took_ms, found = _search(owner, question)
            scores = owner.vectors @ question
            least = np.partition(scores, -WANTED)[-WANTED]
            # What is as near as halves can tell is as right.
            good = sum(float(near) >= least - 1e-3 for near in found)
            seen[f"{kind}_ms"].append(took_ms)
            seen[f"{kind}_recall"].append(good / WANTED)
    return {
        str(size): {
            "p50_ms": percentile([*seen["on_ms"], *seen["off_ms"]], 0.5),
            "on_topic_p50_ms": percentile(seen["on_ms"], 0.5),
            "off_topic_p50_ms": percentile(seen["off_ms"], 0.5),
            "on_topic_recall": float(np.mean(seen["on_recall"])),
            "off_topic_recall": float(np.mean(seen["off_recall"])),
        }
        for size, seen in by_size.items()
    }


def _search(owner: Owner, question: np.ndarray[Any, Any]) -> tuple[float, list[float]]:
    query = QueryVector(LOCAL, question.tolist())
    with connection.cursor() as cursor:
        began = time.perf_counter()
        near = nearest(cursor, Scope(owner.id), query, limit=WANTED)
        took_ms = (time.perf_counter() - began) * 1000
    places = {key: place for place, key in enumerate(owner.keys.tolist())}
    return took_ms, [float(owner.vectors[places[one.chunk_key]] @ question) for one in near]


def making_figures(chunks: int, rounds: int) -> dict[str, Any]:
    """Windows a second: in a bare loop, and by the embedder process into the tables, in turns."""
    texts = ["".join(SENTENCE.format(number, line) for line in range(10)) for number in range(chunks)]
    user = User.objects.create(email=f"{uuid.uuid4().hex}@example.org")
    model = LocalModel()
    os.nice(NICE)
    shares, bare, whole = [], [], []
    for _ in range(rounds):
        began = time.perf_counter()
        windows = sum(map(len, model.windows(texts, lambda: None)))
        bare.append(windows / (time.perf_counter() - began))
        began = time.perf_counter()
        with transaction.atomic():
            document = _document(user, len(texts), status="embedding")
            _chunks(document, texts)
            wake()
        _wait_for(document)
        whole.append(windows / (time.perf_counter() - began))
        shares.append(whole[-1] / bare[-1])
    return {"share": shares, "bare": bare, "embedder": whole}


def _make_sketches(chunks_of: Sequence[int]) -> None:
    """Here, or by the embedder if that was faster: one at a time can."""
    wanted = sum(count >= sketches.WORTH_IT for count in chunks_of)
    deadline = time.monotonic() + MADE_TIMEOUT_S
    while SketchedOwner.objects.count() < wanted and time.monotonic() < deadline:
        sketches.tend(LOCAL, DIMENSIONS)
        time.sleep(0.5)


def _wait_for(document: Document) -> None:
    deadline = time.monotonic() + MADE_TIMEOUT_S
    while Document.objects.values_list("status", flat=True).get(pk=document.pk) != "ready":
        if time.monotonic() > deadline:
            raise TimeoutError(f"no embedder made the vectors of {document.total_chunks} chunks in {MADE_TIMEOUT_S} s")
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors")
    parser.add_argument("--chunks", type=int, nargs="+", required=True, help="of each owner")
    parser.add_argument("--questions", type=int, required=True, help="to each owner, half of them off topic")
    parser.add_argument("--made", type=int, required=True, help="chunks to be embedded in each round")
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    made = making_figures(options.made, options.rounds)
    world = World(options.chunks)
    began = time.perf_counter()
    _make_sketches(options.chunks)
    sketches_s = time.perf_counter() - began
    candidates = list(SketchedOwner.objects.values_list("candidates", flat=True))
    found = search_figures(world, options.questions)
    json.dump({"made": made, "search": found, "sketches_s": sketches_s, "candidates": candidates}, sys.stdout)


if __name__ == "__main__":
    main()
