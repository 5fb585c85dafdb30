"""Whose files a person may see and change: the one rule. Every verb of `memory.workspaces.files` begins with it.

Their own, those of projects that they are a member of, and those of their conversations. What a conversation is, the
app above knows: it hands in its rule at the start (`conversations_are`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, assert_never
from urllib.parse import quote
from uuid import UUID

from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotThere
from memory.kinds import WorkspaceScope as Scope
from memory.models import Project

__all__ = ["Conversations", "Holder", "Place", "Rights", "Scope", "Talk", "conversations_are", "file_url", "rights"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where files lie: of this user, project or conversation."""

    scope: Scope
    scope_id: UUID


@dataclass(frozen=True, slots=True)
class Holder:
    """The person or the project that files belong to, whose quota they count for: one of the two is None."""

    user_id: UUID | None = None
    project_id: UUID | None = None

    @property
    def id(self) -> UUID:
        found = self.user_id or self.project_id
        assert found is not None
        return found

    @property
    def fields(self) -> dict[str, UUID | None]:
        """Those of a row that belongs to it, and the filter that finds it."""
        return {"user_id": self.user_id, "project_id": self.project_id}


@dataclass(frozen=True, slots=True)
class Rights:
    """What somebody may do who may see the files. `owns`: they may delete and rename what others put there."""

    holder: Holder
    may_write: bool
    owns: bool


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, as far as its files are concerned. `user_id`: its owner. `may_write`: whether the asker may."""

    id: UUID
    user_id: UUID
    may_write: bool
    title: str = ""
    project_id: UUID | None = None
    is_temporary: bool = False


class Conversations(Protocol):
    """What `conversations` tells this app."""

    def seen(self, user_id: UUID, conversation_ids: Iterable[UUID]) -> dict[UUID, Talk]:
        """Those of these that the user may see. One query."""

    def still_there(self, conversation_ids: Iterable[UUID]) -> set[UUID]:
        """Those of these that nobody deleted. One query."""


class _None:
    def seen(self, user_id: UUID, conversation_ids: Iterable[UUID]) -> dict[UUID, Talk]:
        return {}

    def still_there(self, conversation_ids: Iterable[UUID]) -> set[UUID]:
        # Who does not know them lets nothing be deleted.
        return set(conversation_ids)


_told: Final[list[Conversations]] = [_None()]


def conversations_are(conversations: Conversations) -> None:
    """Called once at the start by whoever knows them."""
    _told[0] = conversations


def talks(user_id: UUID, conversation_ids: Iterable[UUID]) -> dict[UUID, Talk]:
    """Those of these conversations that the user may see. One query."""
    return _told[0].seen(user_id, conversation_ids)


def still_there(conversation_ids: Iterable[UUID]) -> set[UUID]:
    return _told[0].still_there(conversation_ids)


def rights(user_id: UUID, place: Place) -> Rights:
    """Raises NotThere for what this user may not see, and for one who is gone or deactivated. One query."""
    match place.scope:
        case Scope.USER:
            if place.scope_id != user_id or not User.objects.filter(pk=user_id, is_active=True).exists():
                raise NotThere
            return Rights(Holder(user_id=user_id), may_write=True, owns=True)
        case Scope.PROJECT:
            mine = Project.objects.filter(pk=place.scope_id, members=user_id, members__is_active=True)
            owner_id = mine.values_list("owner_id", flat=True).first()
            if owner_id is None:
                raise NotThere
            return Rights(Holder(project_id=place.scope_id), may_write=True, owns=owner_id == user_id)
        case Scope.CONVERSATION:
            talk = talks(user_id, [place.scope_id]).get(place.scope_id)
            if talk is None:
                raise NotThere
            return Rights(Holder(user_id=talk.user_id), may_write=talk.may_write, owns=talk.may_write)
        case _:
            assert_never(place.scope)


def file_url(place: Place, path: str) -> str:
    """Where the API has the file."""
    return f"/api/v1/files/{place.scope}/{place.scope_id}/{quote(path)}"


def page_url(place: Place, path: str = "") -> str:
    """Where the page shows the file, or the folder if the path ends with a slash."""
    return f"/files/{place.scope}/{place.scope_id}/{quote(path)}"
