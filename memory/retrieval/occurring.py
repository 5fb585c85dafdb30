"""Whether the words of a question stand anywhere in what somebody may see: one look into the keyword index, no ranking.
For who asks before a search whether one can find anything."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

import psycopg

from memory.sight import Scope

MOST_OF_OTHERS: Final = 64
"""More documents of others than that are not looked up one by one."""


async def occurring(connection: psycopg.AsyncConnection[Any], user_id: UUID, terms: Iterable[str]) -> set[str] | None:
    """Those of the terms (`memory.words`) that some document has, in its text or its name. None: there are so many
    documents of others that a search is as quick. One round trip."""
    scope = Scope(user_id)
    # Planned anew: a plan that is kept from a time when the index was small reads all of it once it has grown.
    found = await connection.execute(_sql(scope), {**scope.parameters, "terms": sorted(set(terms))}, prepare=False)
    rows = await found.fetchall()
    too_many = any(term is None for (term,) in rows)
    return None if too_many else {term for (term,) in rows}


def _sql(scope: Scope) -> str:
    # A word is looked up as a stretch of one word, in the order of the primary key, and only its first row is read: in
    # any other way Postgres may choose to read all that there is, to find nothing for a word that stands nowhere.
    first = """
        SELECT FROM memory_posting p WHERE p.owner_id = {owner} AND p.term BETWEEN a.term AND a.term{more}
         ORDER BY p.term, p.document_id, p.chunk_key LIMIT 1"""
    own = first.format(owner="%(user)s", more="")
    theirs = first.format(owner="f.owner_id", more=" AND p.document_id = f.id")
    return f"""
WITH {scope.of_others},
few AS MATERIALIZED (SELECT id, owner_id FROM of_others LIMIT {MOST_OF_OTHERS + 1}),
asked AS (SELECT term COLLATE "C" AS term FROM unnest(%(terms)s::text[]) AS one(term))
SELECT a.term FROM asked a CROSS JOIN LATERAL ({own}) own
 UNION
SELECT a.term FROM asked a
 CROSS JOIN LATERAL (SELECT FROM few f CROSS JOIN LATERAL ({theirs}) theirs LIMIT 1) found
 UNION ALL
SELECT NULL WHERE (SELECT count(*) FROM few) > {MOST_OF_OTHERS}
"""
