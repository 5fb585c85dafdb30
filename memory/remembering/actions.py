"""Everything that a person does with their own memories. Page and API call these and decide nothing themselves."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts.models import User
from hyperagent.lib.clipping import one_line
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from hyperagent.lib.text import clean_text
from memory.embedding.wake import wake
from memory.kinds import MemoryStatus, ProfileField
from memory.models import Memory
from memory.remembering import switch
from memory.remembering.forgetting import forget_rows, matching
from memory.remembering.profile import SEVERAL, kind_of
from memory.remembering.sameness import terms
from memory.remembering.storing import supersede
from memory.remembering.storing_rules import TEXT_CHARS, VALUE_CHARS

_KEPT: Final = (MemoryStatus.ACTIVE, MemoryStatus.QUARANTINED)


def turn(user: User, *, on: bool) -> None:
    """What runs still store by what was chosen before is stored when this returns, and nothing more is after it."""
    with _alone(user):
        switch.turn(user, on=on)


def correct(user: User, memory_id: UUID, text: str) -> Memory:
    """What its owner wrote is true: it is told from now on, whatever had been held against it, and no machine replaces
    it. Raises NotThere, Refused, Conflict."""
    with _alone(user):
        row = _own(user, memory_id)
        _write(user, row, text)
    return row


def fill(user: User, profile: Mapping[ProfileField, Sequence[str]]) -> None:
    """Its owner says what these fields hold, and it is so from now on: each is corrected, added, or, of a field that
    is given nothing, forgotten. A field that is not named stays as it is. Raises Refused."""
    with _alone(user):
        for field, values in profile.items():
            if not values:
                forget_rows(user, matching(user, field))
            elif field in SEVERAL:
                _fill_several(user, field, values)
            else:
                _fill_one(user, field, values[0])


def pin(user: User, memory_id: UUID, *, pinned: bool) -> Memory:
    with _alone(user):
        row = _own(user, memory_id)
        if pinned and row.status != MemoryStatus.ACTIVE:
            raise Conflict("not_active", _("Only what is remembered can be pinned. Accept it first."))
        row.is_pinned = pinned
        row.save(update_fields=["is_pinned"])
    return row


def accept(user: User, memory_id: UUID) -> Memory:
    """Out of quarantine: its owner says that it is meant, and it takes the place of what it contradicts."""
    with _alone(user):
        row = _own(user, memory_id)
        if row.status != MemoryStatus.QUARANTINED:
            raise Conflict("not_quarantined", _("This memory does not wait for a decision. Reload the page."))
        # Its owner has decided: no machine puts it aside again.
        row.corrected_at = timezone.now()
        _activate(user, row)
        row.save()
    return row


def forget(user: User, memory_id: UUID) -> None:
    """It, what it had replaced, and what was made of it. Twice is as once."""
    with _alone(user):
        row = Memory.objects.of(user).select_for_update().filter(pk=memory_id).first()
        if row is None:
            raise NotThere
        forget_rows(user, [row])


def forget_everything(user: User) -> int:
    """How many memories are gone, history and quarantine included."""
    with _alone(user):
        rows = Memory.objects.of(user).select_for_update().exclude(status=MemoryStatus.FORGOTTEN).defer("embedding")
        return forget_rows(user, list(rows))


@contextmanager
def _alone(user: User) -> Iterator[None]:
    """A transaction for what runs go by when they store, or that may change several memories, as they have it: of two
    for one person the second sees what the first did, and neither holds a memory that the other waits for."""
    with transaction.atomic():
        User.objects.hold(user.pk)
        yield


def _fill_one(user: User, field: ProfileField, value: str) -> None:
    row = Memory.objects.of(user).active().filter(field=field).first()
    if row is None:
        _add(user, field, value)
    elif row.text != value:
        correct(user, row.pk, value)


def _fill_several(user: User, field: ProfileField, values: Sequence[str]) -> None:
    rows = list(Memory.objects.of(user).active().filter(field=field))
    forget_rows(user, [row for row in rows if row.text not in values])
    known = {row.text: row for row in rows}
    # The newest is told first.
    last = datetime.min.replace(tzinfo=UTC)
    for value in reversed(dict.fromkeys(values)):
        row = known.get(value) or _add(user, field, value)
        if row.said_at <= last:
            row.said_at = max(timezone.now(), last + timedelta(microseconds=1))
            row.save(update_fields=["said_at"])
        last = row.said_at


def _add(user: User, field: ProfileField, value: str) -> Memory:
    """What waits in quarantine and says the same is what is meant."""
    waiting = Memory.objects.of(user).filter(field=field, text=value, status=MemoryStatus.QUARANTINED).first()
    if waiting is not None:
        return accept(user, waiting.pk)
    row = Memory(user=user, kind=kind_of(field), field=field, origin_key=f"owner:{uuid4().hex}")
    _write(user, row, value)
    return row


def _write(user: User, row: Memory, text: str) -> None:
    """Its owner's own words, inside a transaction."""
    said = _checked(text, row)
    row.text, row.terms = said, terms(said)
    row.embedding, row.embedded_by = None, ""
    row.corrected_at = timezone.now()
    # The words that it was made of are another's text now.
    row.source_excerpt = ""
    _activate(user, row)
    row.save()
    wake()


def _activate(user: User, row: Memory) -> None:
    others = [row.replaces_id] if row.replaces_id and row.status == MemoryStatus.QUARANTINED else []
    row.status, row.reason, row.replaces = MemoryStatus.ACTIVE, "", None
    if row.field and row.field not in SEVERAL:
        alike = Memory.objects.of(user).filter(field=row.field, status=MemoryStatus.ACTIVE).exclude(pk=row.pk)
        others += alike.values_list("pk", flat=True)
    supersede(user, others, by=row)


def _own(user: User, memory_id: UUID) -> Memory:
    """Locked. What is forgotten or history cannot be changed, and is as not there."""
    row = Memory.objects.of(user).select_for_update().filter(pk=memory_id, status__in=_KEPT).first()
    if row is None:
        raise NotThere
    return row


def _checked(text: str, row: Memory) -> str:
    said = one_line(clean_text(text))
    limit = VALUE_CHARS if row.field else TEXT_CHARS
    if not 1 <= len(said) <= limit:
        message = _("A memory has 1 to {limit} characters; this one has {count}. To remove it, forget it.").format(
            limit=limit, count=len(said)
        )
        raise Refused.at("text", message, code="bad_text")
    field = ProfileField(row.field) if row.field else None
    others = Memory.objects.of(row.user).filter(status=MemoryStatus.ACTIVE, field=field or "", text=said)
    if others.exclude(pk=row.pk).exists():
        message = _("You have this memory already. Forget one of the two instead.")
        raise Conflict.at("text", message, code="known_already")
    return said
