"""How long a whole search takes, without the query's embedding, for an owner of many chunks: on the machine as it is,
and beside processes that take every core."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.figure import Figure, at_most, percentile
from benchmarks.report import line, say
from benchmarks.retrieval.loading import load
from benchmarks.retrieval.measuring import by_product, first_windows
from benchmarks.retrieval.sets import Collection, Question, Text, names, read
from benchmarks.retrieval.vectors import Kept
from memory.embedding.asking import QueryVector
from memory.values import Mode
from memory.words.query import Asked, asked

CHUNKS_A_DOCUMENT = 10
ASKED = 200
WARMING = 20
Search = tuple[UUID, Question, Asked, QueryVector]


def timed(root: Path, kept: Kept, *, chunks: int) -> list[Figure]:
    searches = _searches(root, kept, chunks)
    figures = []
    for search in searches[:WARMING]:
        _took_ms(search)
    idle = sorted(_took_ms(search) for search in searches)
    with _every_core_taken():
        loaded = sorted(_took_ms(search) for search in searches)
    owner = f"search, owner of {chunks} chunks"
    for label, values, most in (("", idle, 60), (", every core taken", loaded, 150)):
        figures.append(Figure(f"{owner}, p50{label}", percentile(values, 0.5), "ms"))
        figures.append(Figure(f"{owner}, p95{label}", percentile(values, 0.95), "ms", at_most(most)))
    for figure in figures:
        say(line(figure))
    say(f"the machine's load at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return figures


def _searches(root: Path, kept: Kept, chunks: int) -> list[Search]:
    """The texts of all collections without pages, again and again until there are enough, in documents of one owner."""
    collections = [one for one in (read(root, name) for name in names(root)) if not one.has_pages]
    texts, windows = list[Text](), list[Any]()
    for collection in collections:
        made, owners = kept.of(collection.name, [text.whole for text in collection.texts])
        windows += [made[owners == at] for at in range(len(collection.texts))]
        texts += collection.texts
    turns = itertools.islice(itertools.cycle(range(len(texts))), chunks)
    shelf = [
        (Text(f"{at}#p{at}", f"shelf {at // CHUNKS_A_DOCUMENT}", texts[turn].whole, ""), windows[turn])
        for at, turn in enumerate(turns)
    ]
    owners = np.repeat(np.arange(len(shelf)), [len(some) for _, some in shelf])
    loaded = load(
        Collection("speed", tuple(text for text, _ in shelf), ()),
        np.concatenate([some for _, some in shelf]),
        owners,
        # As good as any: what is far or near makes no difference to how long it takes.
        [some[0] for _, some in shelf[::CHUNKS_A_DOCUMENT]],
    )
    questions = [question for collection in collections for question in collection.questions]
    questions = questions[:: max(1, len(questions) // ASKED)]
    _, vectors = first_windows(kept, "speed-questions", [one.text for one in questions])
    user_id = loaded.users[""]
    return [(user_id, one, asked(one.text), vector) for one, vector in zip(questions, vectors, strict=True)]


def _took_ms(search: Search) -> float:
    user_id, question, words, vector = search
    began_s = time.perf_counter()
    by_product(user_id, question, Mode.HYBRID, words, vector)
    return (time.perf_counter() - began_s) * 1000


@contextmanager
def _every_core_taken() -> Iterator[None]:
    """By as many processes as there are cores, which do nothing but count."""
    busy = [subprocess.Popen((sys.executable, "-c", "while True: pass")) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
