"""Which documents a person may be shown: the one rule, as SQL. Every retrieval joins it; nothing else decides.

A document is seen by its owner, by everyone if it is shared so, by the members of the groups that it is shared with,
and by the members of the projects that it is in.
"""

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from memory.kinds import SEARCHABLE
from memory.values import Filters

_SEARCHABLE = ", ".join(f"'{status.value}'" for status in SEARCHABLE)
_COLUMNS = """d.id, d.owner_id, d.total_chunks, d.total_terms, d.filename, d.title, d.doc_type, d.date, d.language"""
# Each way of seeing leads to its documents by an index of its own: an OR would read through everybody's. One's own, of
# which there may be very many, are not looked up one by one.
_OWN: Final = f"""
    SELECT {_COLUMNS} FROM memory_document d WHERE d.owner_id = %(user)s AND d.status IN ({_SEARCHABLE})
"""
_OF_OTHERS: Final = f"""
    SELECT {_COLUMNS} FROM memory_document d
     WHERE d.owner_id <> %(user)s AND d.status IN ({_SEARCHABLE}) AND d.id IN (
        SELECT id FROM memory_document WHERE visibility = 'everyone'
         UNION ALL
        SELECT s.id FROM accounts_user_groups m
          JOIN memory_document_groups g ON g.group_id = m.group_id
          JOIN memory_document s ON s.id = g.document_id AND s.visibility = 'groups'
         WHERE m.user_id = %(user)s
         UNION ALL
        SELECT p.document_id FROM memory_project_members m
          JOIN memory_project_documents p ON p.project_id = m.project_id
         WHERE m.user_id = %(user)s)
"""
# As the index on it has it (migration 0008).
_SECTIONED: Final = """, sectioned AS MATERIALIZED (
    SELECT c.key FROM visible d JOIN memory_chunk c ON c.document_id = d.id
     WHERE c.section_title <> ''
       AND to_tsvector('simple'::regconfig, COALESCE(c.section_title, '')) @@ plainto_tsquery('simple', %(section)s))"""


def may_see_any(user: str) -> str:
    """SQL: whether the person whose id `user` is in the query may have a document to see. May be true without one, and
    is never false with one."""
    return f"""
        EXISTS (SELECT FROM memory_document WHERE owner_id = {user})
     OR EXISTS (SELECT FROM memory_document WHERE visibility = 'everyone')
     OR EXISTS (SELECT FROM accounts_user_groups m JOIN memory_document_groups g ON g.group_id = m.group_id
                 WHERE m.user_id = {user})
     OR EXISTS (SELECT FROM memory_project_members m JOIN memory_project_documents p ON p.project_id = m.project_id
                 WHERE m.user_id = {user})
    """


@dataclass(frozen=True, slots=True)
class Scope:
    """What one search may look at. `document_ids`: only these, as far as the user may see them; empty for all."""

    user_id: UUID
    document_ids: tuple[UUID, ...] = ()
    filters: Filters = field(default_factory=Filters)

    @property
    def visible(self) -> str:
        """`visible AS (…)`, to stand behind WITH: the documents, with the columns that `_COLUMNS` names."""
        visible = f"visible AS MATERIALIZED ({self._narrowed(f'{_OWN} UNION ALL {_OF_OTHERS}')})"
        return visible + _SECTIONED if self.filters.section_title else visible

    def within(self, chunk_key: str) -> str:
        """Of a query that begins with `visible`: whether the chunk of this key is in a section that fits."""
        return f"{chunk_key} IN (SELECT key FROM sectioned)" if self.filters.section_title else "true"

    @property
    def of_others(self) -> str:
        """`of_others AS (…)`: those among them that somebody else owns."""
        return f"of_others AS ({self._narrowed(_OF_OTHERS)})"

    @property
    def parameters(self) -> dict[str, Any]:
        """What `visible` has places for."""
        filters = self.filters
        return {
            "user": self.user_id,
            "document_ids": list(self.document_ids),
            "doc_type": filters.doc_type,
            "filename": filters.filename.lower(),
            "section": filters.section_title,
            "date_from": filters.date_from,
            "date_to": filters.date_to,
        }

    def _narrowed(self, documents: str) -> str:
        return f"SELECT * FROM ({documents}) d WHERE {' AND '.join(self._parts()) or 'true'}"

    def _parts(self) -> list[str]:
        parts = {
            "d.id = ANY(%(document_ids)s)": self.document_ids,
            "d.doc_type = %(doc_type)s": self.filters.doc_type,
            "strpos(lower(d.filename), %(filename)s) > 0": self.filters.filename,
            "d.date >= %(date_from)s": self.filters.date_from,
            "d.date <= %(date_to)s": self.filters.date_to,
        }
        return [sql for sql, wanted in parts.items() if wanted]
