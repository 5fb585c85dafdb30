"""What is left of files that are gone: those in the bin for long, those of conversations that are no more, and bytes
that no row knows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from hyperagent.accounts.models import User
from hyperagent.lib.database import db_now
from memory.models import Project, StoredBytes, WorkspaceFile
from memory.stray_bytes import remove_strays
from memory.workspaces import files, keeping
from memory.workspaces.places import Place, Scope, still_there

IN_BIN: Final = timedelta(days=7)
_AT_ONCE: Final = 500


def sweep() -> int:
    """How many files, and stretches of bytes without one, went."""
    strays = remove_strays(keeping.FOLDER, known=_known, is_there=_is_there)
    return files.empty_bin(db_now() - IN_BIN) + _of_gone_conversations() + strays


def _of_gone_conversations() -> int:
    """A conversation's files go as it is deleted; here those of one for which a run wrote at the same instant."""
    found = WorkspaceFile.objects.filter(scope=Scope.CONVERSATION).order_by("scope_id")
    ids = list(found.values_list("scope_id", flat=True).distinct())
    removed = 0
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        there = still_there(some)
        removed += sum(files.forget(Place(Scope.CONVERSATION, id_)) for id_ in some if id_ not in there)
    return removed


def _known(names: Sequence[str]) -> set[str]:
    return set(StoredBytes.objects.filter(stored_as__in=names).values_list("stored_as", flat=True))


def _is_there(owner: str) -> bool:
    try:
        id_ = UUID(owner)
    except ValueError:
        return False
    return User.objects.filter(pk=id_).exists() or Project.objects.filter(pk=id_).exists()
