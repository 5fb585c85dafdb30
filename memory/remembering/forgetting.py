"""How memories are forgotten, with all that was made of them: text, source, vector, history, and the summaries of the
conversations that they come from or were told in. That something was forgotten stays, so that the same message does not
teach it again.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from hyperagent.accounts.models import User
from hyperagent.lib.queue import enqueue
from memory.kinds import MemoryStatus, ProfileField
from memory.models import Memory, MemoryUse
from memory.remembering.sameness import terms

DERIVED: Final = "conversations.tasks.memory_forgotten"
"""Takes away what is derived of a memory above this app; enqueued by its name."""
AT_ONCE: Final = 5
ALIKE: Final = 0.6


def forget_rows(user: User, rows: Sequence[Memory]) -> int:
    """Inside a transaction. How many are gone, their history counted."""
    ids = _with_history(user, [row.id for row in rows])
    gone = list(Memory.objects.of(user).filter(pk__in=ids).exclude(status=MemoryStatus.FORGOTTEN).defer("embedding"))
    ids = [row.id for row in gone]
    MemoryUse.objects.filter(memory__in=ids).update(why="", score=0)
    Memory.objects.of(user).filter(pk__in=ids).update(
        status=MemoryStatus.FORGOTTEN,
        text="",
        reason="",
        source_excerpt="",
        terms=[],
        embedding=None,
        embedded_by="",
        is_pinned=False,
        corrected_at=None,
    )
    told = set(MemoryUse.objects.filter(memory__in=ids, conversation__isnull=False).values_list("memory", flat=True))
    for row in gone:
        if row.source_conversation is not None or row.id in told:
            enqueue(DERIVED, row.id)
    return len(ids)


def _with_history(user: User, ids: Sequence[UUID]) -> list[UUID]:
    """They and whatever they took the place of, all the way back."""
    found, newest = list(ids), list(ids)
    while newest:
        before = Memory.objects.of(user).filter(superseded_by__in=newest).exclude(pk__in=found)
        newest = list(before.values_list("pk", flat=True))
        found += newest
    return found


def matching(user: User, wish: ProfileField | str) -> list[Memory]:
    """What a person means by "forget …". Nothing where that could be many things: the page shows them all."""
    live = Memory.objects.of(user).filter(status__in=[MemoryStatus.ACTIVE, MemoryStatus.QUARANTINED]).defer("embedding")
    if isinstance(wish, ProfileField):
        return list(live.filter(field=wish))
    wanted = set(terms(wish))
    if not wanted:
        return []
    found = [row for row in live.filter(terms__overlap=list(wanted))[:500] if _is_meant(row, wanted)]
    return found if len(found) <= AT_ONCE else []


def _is_meant(row: Memory, wanted: set[str]) -> bool:
    told = set(terms(row.text))
    if wanted <= told or (row.field and told <= wanted):
        return True
    return len(wanted & told) / len(wanted | told) >= ALIKE
