"""Reading a person's memories for the page, the API and the export: a fixed number of queries. Writes nothing."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.times import iso
from memory.kinds import MemoryStatus
from memory.models import Memory, MemoryUse
from memory.remembering import shapes, switch

USES: Final = 10
"""The newest of each memory that are shown."""
ALL_USES: Final = 1_000
SHOWN: Final = (MemoryStatus.ACTIVE, MemoryStatus.QUARANTINED)
MOST: Final = 5_000
"""That are shown, and so many that were replaced; an export has all of them."""
DEPTH: Final = 20


def everything_of(user: User, *, uses: int = USES, most: int | None = MOST) -> dict[str, Any]:
    """What is known of this person, with its sources, uses and history. Four queries."""
    rows = list(Memory.objects.of(user).filter(status__in=SHOWN).defer("embedding", "terms")[:most])
    history = _history(user, rows, most)
    told = _uses([row.id for row in rows], uses)
    return shapes.all_shape(rows, told, history, is_on=switch.is_on(user))


def one_of(user: User, memory_id: UUID) -> dict[str, Any]:
    """Raises NotThere, for what is forgotten too."""
    row = Memory.objects.of(user).filter(pk=memory_id, status__in=SHOWN).defer("embedding", "terms").first()
    if row is None:
        raise NotThere
    return shapes.memory_shape(row, _uses([row.id], USES).get(row.id, ()), _history(user, [row]).get(row.id, ()))


def export_of(user: User) -> dict[str, Any]:
    """All of it as a file; what was forgotten is not there any more."""
    return {
        "version": shapes.EXPORTED,
        "exported_at": iso(timezone.now()),
        **everything_of(user, uses=ALL_USES, most=None),
    }


def _uses(ids: list[UUID], limit: int) -> dict[UUID, list[MemoryUse]]:
    numbered = MemoryUse.objects.filter(memory__in=ids).annotate(
        place=Window(RowNumber(), partition_by=[F("memory_id")], order_by=[F("used_at").desc(), F("id").desc()])
    )
    found: defaultdict[UUID, list[MemoryUse]] = defaultdict(list)
    for use in numbered.filter(place__lte=limit).order_by("-used_at", "-id"):
        found[use.memory_id].append(use)
    return found


def _history(user: User, rows: Iterable[Memory], most: int | None = MOST) -> dict[UUID, list[Memory]]:
    """What each took the place of, and what that had, newest first."""
    past: defaultdict[UUID | None, list[Memory]] = defaultdict(list)
    for row in Memory.objects.of(user).filter(status=MemoryStatus.SUPERSEDED).defer("embedding", "terms")[:most]:
        past[row.superseded_by_id].append(row)
    found: dict[UUID, list[Memory]] = {}
    for row in rows:
        chain: list[Memory] = []
        newest = [row.id]
        while newest and len(chain) < DEPTH:
            before = [one for id_ in newest for one in past.get(id_, ())]
            chain += before
            newest = [one.id for one in before]
        found[row.id] = sorted(chain, key=lambda one: one.said_at, reverse=True)
    return found
