"""The files of a place as folders: what lies in one, and what a search over all of it finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import CharField, Count, F, Func, Max, QuerySet, Sum, Value
from django.db.models.functions import Collate, StrIndex, Substr

from hyperagent.lib.alphabet import by_name
from hyperagent.lib.text import clean_text
from memory.models import WorkspaceFile
from memory.workspaces.files import standing
from memory.workspaces.places import Place

MOST_FOLDERS: Final = 500
SORTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "": by_name("path"),
    "new": (F("changed_at").desc(), F("path")),
    "size": (F("size_bytes").desc(), F("path")),
}


@dataclass(frozen=True, slots=True)
class Folder:
    """`path` ends with a slash. Counted with all that lies below it."""

    path: str
    name: str
    files: int
    size_bytes: int
    changed_at: datetime


def folders_in(place: Place, folder: str) -> list[Folder]:
    """The folders right in this one, by name; `folder` is empty or ends with a slash. One query."""
    rest = Substr("path", len(folder) + 1)
    first = Func(rest, Value("/"), Value(1), function="split_part", output_field=CharField())
    below = standing(place, folder).annotate(slash=StrIndex(rest, Value("/")), name=first).filter(slash__gt=0)
    counted = below.order_by().values_list("name").annotate(files=Count("pk"), size=Sum("size_bytes"))
    found = counted.annotate(last=Max("changed_at")).order_by(*by_name("name"))[:MOST_FOLDERS]
    return [Folder(f"{folder}{name}/", name, files, size, last) for name, files, size, last in found]


def files_in(place: Place, folder: str, sort: str = "") -> "QuerySet[WorkspaceFile]":
    """Those right in this folder."""
    rest = Substr("path", len(folder) + 1)
    return standing(place, folder).annotate(slash=StrIndex(rest, Value("/"))).filter(slash=0).order_by(*SORTS[sort])


def files_named(place: Place, words: str, sort: str = "") -> "QuerySet[WorkspaceFile]":
    """Those of the whole place whose path has each of these words."""
    # As paths are sorted, only letters of English have a small and a large form.
    found = standing(place).alias(read=Collate("path", "default"))
    for word in words.split():
        found = found.filter(read__icontains=word)
    return found.order_by(*SORTS[sort])


def deleted_in(place: Place, prefix: str = "") -> "QuerySet[WorkspaceFile]":
    """Those of the place that can still be put back, the last deleted first. For callers that have asked for the
    rights."""
    there = WorkspaceFile.objects.at(place.scope, place.scope_id).exclude(deleted_at=None)
    return there.filter(path__startswith=clean_text(prefix)).order_by("-deleted_at", "path")
