"""The collections: texts, questions and which text answers which question, read from the folder BENCH_DATA. Measures
nothing.

Each is a folder with `corpus.jsonl` (id, title, text; `user` where a search is limited to one person's),
`queries.jsonl` (id, text, `user`) and `qrels.tsv` (query, text, relevance). Texts whose ids end in `#p` and a number
are pages, and those of a title are one document; where only the documents are judged, `qrels_docs.tsv` (query, title,
relevance) stands in the place of `qrels.tsv`.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ABSTRACTS = ("cranfield", "cisi", "med", "cacm")
"""Whose mean is a figure of its own."""
TEXTS, QUESTIONS, JUDGED, JUDGED_DOCUMENTS = "corpus.jsonl", "queries.jsonl", "qrels.tsv", "qrels_docs.tsv"
_PAGE = re.compile(r"#p\d+$")


class NoData(Exception):
    """The collections are not there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    title: str
    body: str
    user: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.body}".strip()


@dataclass(frozen=True, slots=True)
class Question:
    """`relevant`: by id of the text, how relevant it is, from 1. `answer`: as somebody wrote it, where there is one."""

    id: str
    text: str
    user: str
    relevant: Mapping[str, int]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """`questions`: those that somebody judged. `user`: empty where everything belongs to one."""

    name: str
    texts: tuple[Text, ...]
    questions: tuple[Question, ...]
    judges_documents: bool = False

    @property
    def has_pages(self) -> bool:
        return all(_PAGE.search(text.id) for text in self.texts)

    @property
    def has_users(self) -> bool:
        return any(text.user for text in self.texts)


def folder() -> Path:
    """Raises NoData."""
    given = os.environ.get("BENCH_DATA", "")
    if not given:
        raise NoData(
            "BENCH_DATA is not set. Set it to a folder that has one folder a collection, each with corpus.jsonl,"
            " queries.jsonl and qrels.tsv: make bench-retrieval BENCH_DATA=/path/to/collections"
        )
    path = Path(given)
    if not path.is_dir():
        raise NoData(f"BENCH_DATA is {given}, which is no folder")
    return path


def names(root: Path) -> list[str]:
    """Of the collections in the folder, those with a mean of their own first. Raises NoData if there is none."""
    found = sorted(path.parent.name for path in root.glob(f"*/{TEXTS}") if (path.parent / QUESTIONS).exists())
    if not found:
        raise NoData(f"BENCH_DATA is {root}, where no folder has {TEXTS} and {QUESTIONS}")
    return [name for name in ABSTRACTS if name in found] + [name for name in found if name not in ABSTRACTS]


def read(root: Path, name: str) -> Collection:
    """Raises NoData where a file is missing."""
    by_documents = not (root / name / JUDGED).exists()
    try:
        judged: dict[str, dict[str, int]] = defaultdict(dict)
        lines = (root / name / (JUDGED_DOCUMENTS if by_documents else JUDGED)).read_text(encoding="utf-8").splitlines()
        for line in lines:
            question, text, relevance = line.split("\t")
            if int(relevance) > 0:
                judged[question][text] = int(relevance)
        texts = tuple(
            Text(row["id"], row.get("title") or "", row.get("text") or "", row.get("user", ""))
            for row in _rows(root / name / TEXTS)
        )
        questions = tuple(
            Question(row["id"], row["text"], row.get("user", ""), judged[row["id"]], row.get("answer", ""))
            for row in _rows(root / name / QUESTIONS)
            if row["id"] in judged
        )
    except FileNotFoundError as error:
        raise NoData(f"{error.filename} is missing; BENCH_DATA must hold the collection {name}") from error
    return Collection(name, texts, questions, by_documents)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
