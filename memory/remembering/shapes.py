"""How memories look to browsers and programs, to their owner alone. Pure: rows in, JSON values out."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from hyperagent.lib.times import iso
from memory.kinds import MemoryStatus
from memory.models import Memory, MemoryUse
from memory.remembering.profile import whole_profile_of

Json = dict[str, Any]
EXPORTED: int = 1
"""The version of the export's form."""


def memory_shape(row: Memory, uses: Iterable[MemoryUse] = (), history: Iterable[Memory] = ()) -> Json:
    """`history`: what it took the place of, newest first. `uses`: the newest runs that were told it."""
    return {
        "id": str(row.id),
        "kind": row.kind,
        "field": row.field or None,
        "text": row.text,
        "status": row.status,
        "reason": row.reason,
        "pinned": row.is_pinned,
        "corrected_at": iso(row.corrected_at),
        "created_at": iso(row.created_at),
        "source": {
            "conversation_id": str(row.source_conversation) if row.source_conversation else None,
            "execution_id": str(row.source_execution) if row.source_execution else None,
            "turn": row.source_turn or None,
            "excerpt": row.source_excerpt,
            "said_at": iso(row.said_at),
        },
        "times_used": row.times_used,
        "last_used_at": iso(row.last_used_at),
        "uses": [use_shape(use) for use in uses],
        "history": [past_shape(past) for past in history],
    }


def use_shape(use: MemoryUse) -> Json:
    return {
        "execution_id": str(use.execution),
        "conversation_id": str(use.conversation) if use.conversation else None,
        "why": use.why,
        "score": use.score,
        "at": iso(use.used_at),
    }


def past_shape(row: Memory) -> Json:
    return {"id": str(row.id), "text": row.text, "said_at": iso(row.said_at), "reason": row.reason}


def all_shape(
    rows: Iterable[Memory], uses: Mapping[UUID, list[MemoryUse]], history: Mapping[UUID, list[Memory]], *, is_on: bool
) -> Json:
    """`rows`: newest first."""
    rows = list(rows)
    active = [row for row in rows if row.status == MemoryStatus.ACTIVE]
    shown = [memory_shape(row, uses.get(row.id, ()), history.get(row.id, ())) for row in rows]
    return {"on": is_on, **whole_profile_of(active), "memories": shown}
