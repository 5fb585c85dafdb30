"""What is left of files that are gone: those in the bin for long, those of conversations that are no more, and bytes
that no row knows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

from hyperagent.accounts.models import User
from hyperagent.lib.database import db_now
from memory.models import Project, StoredBytes, WorkspaceFile
from memory.stray_bytes import WORK_S, remove_strays
from memory.workspaces import files, keeping
from memory.workspaces.places import Place, Scope, still_there

IN_BIN: Final = timedelta(days=7)
LOOKED_AT: Final = 500
"""Conversations with files in one sweep: all of a small installation."""


def sweep(*, work_s: float = WORK_S) -> int:
    """How many files, and stretches of bytes without one, went. Of those all that there is time for."""
    gone = files.empty_bin(db_now() - IN_BIN) + _of_gone_conversations()
    return gone + remove_strays(keeping.FOLDER, known=_known, is_there=_is_there, work_s=work_s)


def _of_gone_conversations() -> int:
    """A conversation's files go as it is deleted; here those of one for which a run wrote at the same instant."""
    some = _some_conversations()
    there = still_there(some)
    return sum(files.forget(Place(Scope.CONVERSATION, id_)) for id_ in some if id_ not in there)


def _some_conversations() -> set[UUID]:
    """With files: from a random id on, and again from the first if that came to the end."""
    found: set[UUID] = set()
    for first in (uuid4(), UUID(int=0)):
        rows = WorkspaceFile.objects.filter(scope=Scope.CONVERSATION, scope_id__gte=first).order_by("scope_id")
        found.update(rows.values_list("scope_id", flat=True).distinct()[: LOOKED_AT - len(found)])
    return found


def _known(names: Sequence[str]) -> set[str]:
    return set(StoredBytes.objects.filter(stored_as__in=names).values_list("stored_as", flat=True))


def _is_there(owner: str) -> bool:
    try:
        id_ = UUID(owner)
    except ValueError:
        return False
    return User.objects.filter(pk=id_).exists() or Project.objects.filter(pk=id_).exists()
