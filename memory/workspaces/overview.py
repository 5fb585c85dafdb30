"""Where a person has files, and how much room they take: for lists of places. Who may see them: `places`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Q, Sum
from django.utils.translation import gettext as _

from hyperagent.accounts.models import User
from hyperagent.lib.alphabet import by_name
from memory.models import Project, StoredBytes, WorkspaceFile
from memory.workspaces.places import Holder, Place, Scope, talks

MOST_CONVERSATIONS: Final = 100
SORTS: Final = {"": "-last", "size": "-size"}


@dataclass(frozen=True, slots=True)
class Overview:
    """`size_bytes`: of the files as they stand. `used_bytes`: what is taken of the quota, with all versions and the
    bin; of a conversation, its owner's."""

    place: Place
    name: str
    files: int
    size_bytes: int
    used_bytes: int
    quota_bytes: int


def places_of(user: User) -> list[Overview]:
    """Their own files, those of their projects, and of their latest conversations that have files. Six queries."""
    return [*own_and_projects(user), *conversations_with_files(user)[:MOST_CONVERSATIONS]]


def own_and_projects(user: User) -> list[Overview]:
    """The projects by name. Three queries."""
    projects = list(Project.objects.seen_by(user).order_by(*by_name("name"), "pk").values_list("pk", "name"))
    named = [
        (Place(Scope.USER, user.pk), _("My files")),
        *((Place(Scope.PROJECT, id_), name) for id_, name in projects),
    ]
    sizes = _sizes([place.scope_id for place, _name in named])
    used = _used(user.pk, [id_ for id_, _name in projects])
    return [
        Overview(
            place,
            name,
            *sizes.get((place.scope, place.scope_id), (0, 0)),
            used_bytes=used.get(place.scope_id, 0),
            quota_bytes=settings.CONFIG.workspace_quota_bytes,
        )
        for place, name in named
    ]


def conversations_with_files(user: User, sort: str = "") -> list[Overview]:
    """All of them, but those that are temporary; the latest first, or as `SORTS` has it. Three queries."""
    standing = WorkspaceFile.objects.standing().filter(scope=Scope.CONVERSATION, user=user).order_by()
    counted = standing.values_list("scope_id").annotate(
        files=Count("pk"), size=Sum("size_bytes"), last=Max("changed_at")
    )
    found = list(counted.order_by(SORTS[sort], "scope_id"))
    seen = talks(user.pk, [id_ for id_, *_counts in found])
    used = held_bytes(Holder(user_id=user.pk))
    return [
        Overview(
            Place(Scope.CONVERSATION, id_),
            seen[id_].title or _("Conversation without a title"),
            files,
            size,
            used_bytes=used,
            quota_bytes=settings.CONFIG.workspace_quota_bytes,
        )
        for id_, files, size, _last in found
        if id_ in seen and not seen[id_].is_temporary
    ]


def held_bytes(holder: Holder) -> int:
    """What is taken of the quota of one person or project. One query."""
    return StoredBytes.objects.filter(**holder.fields).aggregate(total=Sum("size_bytes"))["total"] or 0


def _sizes(scope_ids: Iterable[UUID]) -> dict[tuple[str, UUID], tuple[int, int]]:
    found = WorkspaceFile.objects.standing().filter(scope_id__in=list(scope_ids)).order_by()
    counted = found.values_list("scope", "scope_id").annotate(files=Count("pk"), size=Sum("size_bytes"))
    return {(scope, scope_id): (files, size) for scope, scope_id, files, size in counted}


def _used(user_id: UUID, project_ids: Iterable[UUID]) -> dict[UUID, int]:
    held = StoredBytes.objects.filter(Q(user=user_id) | Q(project__in=list(project_ids)))
    summed = held.values_list("user_id", "project_id").annotate(total=Sum("size_bytes"))
    return {user or project: total for user, project, total in summed}
