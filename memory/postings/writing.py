"""Writes the keyword index of a document, and drops it. Knows no ranking; reads nothing but what it wrote.

Besides its chunks a document has a name: the terms of its file name and title, under the key `NAME_KEY`, which no chunk
has. It is counted apart, so that a search can weigh it apart. The words of the headings above a chunk stand for it once
each, where it does not say them itself, and add nothing to its length.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from memory.words.terms import terms_of

NAME_KEY: Final = 0
_Counted = tuple[int, list[str], list[str]]
"""The key, the terms of the text, and those of the headings above it."""
_LARGEST: Final = 32_767
_COPY: Final = "COPY memory_posting (owner_id, term, document_id, chunk_key, count, length) FROM STDIN"
_NAMED: Final = "SELECT 1 FROM memory_posting WHERE document_id = %s AND chunk_key = %s LIMIT 1"


def write_postings(
    cursor: CursorWrapper,
    *,
    owner_id: UUID,
    document_id: UUID,
    filename: str,
    title: str,
    language: str,
    chunks: Sequence[tuple[int, str, str]],
) -> int:
    """Adds the chunks (key, text, section title), and the document's name with its first ones. Returns the number of
    the texts' terms: what `Document.total_terms` grows by. `language`: that of the document, as it is stored."""
    counted = [(key, terms_of(text, language), terms_of(section, language)) for key, text, section in chunks]
    named: list[_Counted] = []
    if not _is_named(cursor, document_id):
        named = [(NAME_KEY, terms_of(f"{filename}\n{title}", language), [])]
    with cursor.copy(_COPY) as copy:
        for row in _rows([*counted, *named]):
            copy.write_row((owner_id, row[0], document_id, *row[1:]))
    return sum(min(len(terms), _LARGEST) for _, terms, _ in counted)


def drop_postings(cursor: CursorWrapper, document_id: UUID) -> None:
    cursor.execute("DELETE FROM memory_posting WHERE document_id = %s", [document_id])


def _is_named(cursor: CursorWrapper, document_id: UUID) -> bool:
    cursor.execute(_NAMED, [document_id, NAME_KEY])
    return cursor.fetchone() is not None


def _rows(counted: Sequence[_Counted]) -> Iterator[tuple[Any, ...]]:
    """(term, chunk key, count, length)."""
    for key, terms, above in counted:
        length = min(len(terms), _LARGEST)
        for term, count in (Counter(terms) | Counter(set(above))).items():
            yield term, key, min(count, _LARGEST), length
