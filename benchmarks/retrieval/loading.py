"""Puts a collection into the product's own tables, as ingestion would: documents, chunks, keywords and vectors."""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import connection, transaction

from benchmarks.retrieval.sets import Collection
from hyperagent.accounts.models import User
from memory.embedding.chosen import choose
from memory.embedding.local import LocalModel
from memory.ids import chunk_id
from memory.ingestion import facts
from memory.kinds import DocumentStatus
from memory.models import Chunk, Document
from memory.postings.writing import write_postings
from memory.values import Page
from memory.vectors.writing import store, store_document


@dataclass(frozen=True, slots=True)
class Loaded:
    """`users`: who may search, by the collection's name for them. `texts`: by chunk, which text it is."""

    users: dict[str, uuid.UUID]
    texts: dict[uuid.UUID, str]
    documents: dict[str, uuid.UUID]


def load(collection: Collection, windows: Any, owners: Any, described: Sequence[Any]) -> Loaded:
    """Each text is a document of one chunk; where texts are pages, those of a title are a document. `described`: the
    vector of what `descriptions` says of each document."""
    choose(LocalModel.name)
    users = {name: _user(collection.name, name) for name in dict.fromkeys(text.user for text in collection.texts)}
    vectors: dict[int, list[Any]] = {}
    for window, owner in zip(windows, owners, strict=True):
        vectors.setdefault(int(owner), []).append([float(value) for value in window])
    texts: dict[uuid.UUID, str] = {}
    documents: dict[str, uuid.UUID] = {}
    with transaction.atomic():
        for (name, pages), about in zip(_documents(collection), described, strict=True):
            first = collection.texts[pages[0]]
            title = _title(collection, pages)
            written = _write(users[first.user], name, title, [collection.texts[at].whole for at in pages])
            documents[name] = written.document
            _store_vectors(written, [vectors[at] for at in pages], about)
            texts |= {one: collection.texts[at].id for one, at in zip(written.chunks, pages, strict=True)}
    with connection.cursor() as cursor:
        cursor.execute(
            "VACUUM ANALYZE memory_posting, memory_vector, memory_chunk, memory_document, memory_documentvector"
        )
    return Loaded(users, texts, documents)


def descriptions(collection: Collection) -> list[str]:
    """What the vector of each document as a whole is made of: its names and its first sentences, as without a model."""
    return [
        "\n".join(part for part in (_title(collection, pages), name, _description(collection, pages)) if part)
        for name, pages in _documents(collection)
    ]


def _title(collection: Collection, pages: Sequence[int]) -> str:
    return "" if collection.has_pages else collection.texts[pages[0]].title


def _description(collection: Collection, pages: Sequence[int]) -> str:
    read = [Page(number, collection.texts[at].whole) for number, at in enumerate(pages, 1)]
    return facts.description_of(facts.sample_of(read), title=_title(collection, pages))


def _documents(collection: Collection) -> Iterable[tuple[str, list[int]]]:
    texts = collection.texts
    if not collection.has_pages:
        return [(f"{text.id}.txt", [at]) for at, text in enumerate(texts)]
    by_title = groupby(range(len(texts)), key=lambda at: texts[at].title)
    return [(f"{title}.pdf", list(pages)) for title, pages in by_title]


@dataclass(frozen=True, slots=True)
class _Written:
    document: uuid.UUID
    keys: list[int]
    chunks: list[uuid.UUID]


def _user(collection: str, name: str) -> uuid.UUID:
    address = f"{collection}-{hashlib.sha256(name.encode()).hexdigest()[:12]}@example.org"
    made: uuid.UUID = User.objects.create(email=address, password="!").pk
    return made


def _write(owner_id: uuid.UUID, filename: str, title: str, texts: Sequence[str]) -> _Written:
    identity = uuid.uuid4()
    document = Document.objects.create(
        id=identity,
        owner_id=owner_id,
        filename=filename[:255],
        title=title[:255],
        sha256=hashlib.sha256(identity.bytes).hexdigest(),
        doc_type="txt",
        language="en",
        status=DocumentStatus.READY,
        total_pages=len(texts),
        total_chunks=len(texts),
    )
    ends = [sum(len(text) + 2 for text in texts[: at + 1]) - 2 for at in range(len(texts))]
    chunks = Chunk.objects.bulk_create(
        Chunk(
            chunk_id=chunk_id(identity, at),
            document=document,
            ordinal=at,
            text=text,
            start=ends[at] - len(text),
            end=ends[at],
            page=at + 1,
            last_page=at + 1,
            kind="paragraph",
            tokens=len(text.split()),
        )
        for at, text in enumerate(texts)
    )
    with connection.cursor() as cursor:
        terms = write_postings(
            cursor,
            owner_id=owner_id,
            document_id=identity,
            filename=document.filename,
            title=document.title,
            language=document.language,
            chunks=[(chunk.key, chunk.text, chunk.section_title) for chunk in chunks],
        )
    Document.objects.filter(pk=identity).update(total_terms=terms)
    return _Written(identity, [chunk.key for chunk in chunks], [chunk.chunk_id for chunk in chunks])


def _store_vectors(written: _Written, vectors: Sequence[list[Any]], about: Any) -> None:
    with connection.cursor() as cursor:
        by_key = dict(zip(written.keys, vectors, strict=True))
        store(cursor, model=LocalModel.name, document_id=written.document, vectors=by_key)
        store_document(cursor, model=LocalModel.name, document_id=written.document, text_hash="", vector=about)
