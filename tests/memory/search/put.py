"""Documents as a search meets them: chunks, keywords and vectors, written by the product, without a file or a job."""

import hashlib
import math
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection

from memory.actions import documents
from memory.embedding.asking import QueryVector
from memory.embedding.chosen import choose
from memory.ids import chunk_id
from memory.kinds import DocumentStatus, Visibility
from memory.models import Chunk, Document
from memory.postings.writing import write_postings
from memory.retrieval.search import search_by
from memory.values import Found, Mode, Wanted
from memory.vectors.writing import store, store_document
from memory.words.query import asked
from memory.words.tokens import tokens_of

MODEL = "hashed words"
DIMENSIONS = 64


def put(
    user: Any, *texts: str, filename: str = "", pages: Sequence[int] = (), sections: Sequence[str] = (), **fields: Any
) -> Document:
    """A document of `user` whose chunks are `texts`, one after the other, on a page of its own each."""
    identity = uuid.uuid4()
    document = Document.objects.create(
        id=identity,
        owner=user,
        filename=filename or f"{identity.hex[:6]}.txt",
        sha256=hashlib.sha256(identity.bytes).hexdigest(),
        total_pages=max(pages, default=len(texts)),
        **{"status": DocumentStatus.READY, "visibility": Visibility.PRIVATE, "doc_type": "txt", **fields},
    )
    starts = [sum(len(text) + 2 for text in texts[:at]) for at in range(len(texts))]
    chunks = Chunk.objects.bulk_create(
        Chunk(
            chunk_id=chunk_id(identity, ordinal),
            document=document,
            ordinal=ordinal,
            text=text,
            start=starts[ordinal],
            end=starts[ordinal] + len(text),
            page=pages[ordinal] if pages else ordinal + 1,
            last_page=pages[ordinal] if pages else ordinal + 1,
            section_title=sections[ordinal] if sections else "",
            kind="paragraph",
            tokens=len(text.split()),
        )
        for ordinal, text in enumerate(texts)
    )
    for chunk in chunks[1:]:
        chunk.parent = chunks[0]
    Chunk.objects.bulk_update(chunks[1:], ["parent"])
    with connection.cursor() as cursor:
        terms = write_postings(
            cursor,
            owner_id=user.pk,
            document_id=identity,
            filename=document.filename,
            title=document.title,
            language=document.language,
            chunks=[(chunk.key, chunk.text, chunk.section_title) for chunk in chunks],
        )
    document.total_chunks, document.total_terms = len(texts), terms
    document.save(update_fields=["total_chunks", "total_terms"])
    return document


def give_vectors(*documents: Document) -> None:
    choose(MODEL)
    for document in documents:
        vectors = {chunk.key: [vector_of(chunk.text)] for chunk in document.chunks.all()}
        with connection.cursor() as cursor:
            store(cursor, model=MODEL, document_id=document.pk, vectors=vectors)


def describe(document: Document, said: str) -> None:
    """As a model does it: what it says of the document, and the vector of that with the document's names."""
    documents.describe(document.pk, said)
    with connection.cursor() as cursor:
        vector = vector_of("\n".join([document.title, document.filename, said]))
        store_document(cursor, model=MODEL, document_id=document.pk, text_hash="", vector=vector)


def vector_of(text: str) -> list[float]:
    """Texts that share words are near each other: what a model does, by other means."""
    values = [0.001] * DIMENSIONS
    for token in tokens_of(text):
        values[int.from_bytes(hashlib.sha256(token.encode()).digest()[:4]) % DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]


def found_by(user: Any, query: str, *, mode: Mode = Mode.HYBRID, **wanted: Any) -> Found:
    """As `search` does it, with the query's vector at hand."""
    vector = None if mode is Mode.KEYWORD else QueryVector(MODEL, vector_of(query))
    return search_by(user.pk, Wanted(query, mode=mode, **wanted), asked(query), vector)
