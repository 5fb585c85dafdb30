"""What is kept of a person, part by part: the list that an export and a farewell go through. Each app knows its own
part and registers it at the start; what a part holds is not known here.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import ClassVar, Final, TypeVar
from uuid import UUID

from django.db import models
from django.db.models.functions import Cast
from django.utils.functional import Promise
from django.utils.module_loading import import_string

from hyperagent.accounts.archive import Archive

BLANK: Final = {"erased": True}
"""In a column of JSON whose words are gone."""
# As a key; in what somebody wrote the quotes have strokes before them.
_MARK: Final = '"erased":'

Row = TypeVar("Row", bound=models.Model)


def not_blank(rows: models.QuerySet[Row], column: str) -> models.QuerySet[Row]:
    """Those in whose column of JSON something stands still. JSON that is kept to the letter cannot be compared."""
    spoken: models.QuerySet[Row] = rows.alias(as_text=Cast(column, models.TextField()))  # type: ignore[assignment]
    return spoken.exclude(as_text__contains=_MARK)


class PersonalPart:
    """One app's part. A part may do less: what it does not say, it has not.

    `goes`, `stays`: sentences for people, in their language when they are shown; for whoever deletes their own account,
    and for the administrator who deletes it.
    """

    name: ClassVar[str]
    goes: ClassVar[Sequence[str | Promise]] = ()
    stays: ClassVar[Sequence[str | Promise]] = ()

    def write(self, user_id: UUID, archive: Archive) -> None:
        """Puts the person's own into their export. No more in memory at a time than one thing of theirs."""

    def suspend(self, user_id: UUID) -> None:
        """Ends what goes on, and what would begin by itself, without losing anything: of whoever was deactivated, or
        is about to be closed. Twice is as once."""

    def stop(self, user_id: UUID) -> None:
        """Gives up what is not to outlive the yes: called once, in the transaction in which the account is closed."""

    def going(self, user_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """How many things of each of these people go on at this moment; who has none is left out."""
        return {}

    def is_going(self, user_id: UUID) -> bool:
        """Whether something that was stopped has not ended yet; until it has, nothing is erased."""
        return False

    def group_renamed(self, before: str, after: str) -> None:
        """Where groups are known by name. Called in the transaction that renames it."""

    def program_handed_over(self, program_id: UUID, before: UUID | None, after: UUID) -> None:
        """Another person answers for this service account. Called in the transaction that says so."""

    def erase(self, user_id: UUID) -> int:
        """Removes or blanks some, a few hundred at a time, each lot whole or not at all. How many; 0: nothing is left.

        Called until it says 0, and anew from the start after whoever called it was killed.
        """
        return 0


_named: list[str] = []


def register(dotted_path: str) -> None:
    """Called once at the start by the app whose part it is. By name: what a part needs is loaded when it is used."""
    if dotted_path not in _named:
        _named.append(dotted_path)


@cache
def parts() -> tuple[PersonalPart, ...]:
    """In the order in which the apps were loaded: those below first."""
    return tuple(import_string(path)() for path in _named)
