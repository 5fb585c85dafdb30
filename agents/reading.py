"""Reading the event log and runs for the web: synchronous, read-only, by number. Writes nothing and announces nothing."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Q
from django.db.models.functions import Now

from agents.engine.events import TERMINAL_TYPES
from agents.engine.states import TERMINAL_STATUSES
from agents.models import Event, Execution, Runner

PAGE = 200
# Enough for a page of token frames; a page of huge events is cut earlier, so that a reader's memory stays bounded.
PAGE_CHARS = 1_000_000
JUST_ENDED = timedelta(seconds=15)
RUNNER_IS_LOST_AFTER = timedelta(seconds=30)


class LoggedEvent(NamedTuple):
    """`body` is the exact JSON text that is sent."""

    seq: int
    type: str
    body: str

    @property
    def is_last(self) -> bool:
        return self.type in TERMINAL_TYPES


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an execution's log is."""

    last_seq: int
    is_over: bool


def events_after(execution_id: uuid.UUID | str, after: int, *, limit: int = PAGE) -> list[LoggedEvent]:
    """The next events in order, without a gap: at most `limit`, and about PAGE_CHARS of text. One query."""
    rows = Event.objects.filter(execution_id=execution_id, seq__gt=after).order_by("seq")
    found: list[LoggedEvent] = []
    chars = 0
    for seq, kind, body in rows.values_list("seq", "type", "body")[:limit].iterator(chunk_size=50):
        if seq != after + len(found) + 1:
            break
        found.append(LoggedEvent(seq, kind, body))
        chars += len(body)
        if chars > PAGE_CHARS:
            break
    return found


def progress_of(execution_id: uuid.UUID | str) -> Progress | None:
    return progress([execution_id]).get(str(execution_id))


def progress(execution_ids: Iterable[uuid.UUID | str]) -> Mapping[str, Progress]:
    """One query."""
    rows = Execution.objects.filter(id__in=list(execution_ids)).values_list("id", "last_seq", "status")
    return {str(row_id): Progress(last_seq, status in TERMINAL_STATUSES) for row_id, last_seq, status in rows}


def live_in_conversations(conversation_ids: Iterable[str]) -> Mapping[str, dict[str, int]]:
    """For each conversation its runs that are not over, with their last number. One query."""
    rows = Execution.objects.exclude(status__in=TERMINAL_STATUSES).filter(conversation_id__in=list(conversation_ids))
    found: dict[str, dict[str, int]] = {}
    for conversation_id, execution_id, last_seq in rows.values_list("conversation_id", "id", "last_seq"):
        found.setdefault(str(conversation_id), {})[str(execution_id)] = last_seq
    return found


def for_reader(conversation_id: str, after: Mapping[str, int] | None) -> Mapping[str, Progress]:
    """The runs whose events somebody who opens the conversation is to be sent: those that go on, and those of `after`.

    A reader who says what it has (be it nothing) read the tables a moment ago; what ended since is sent too. One query.
    """
    wanted = ~Q(status__in=TERMINAL_STATUSES)
    if after is not None:
        wanted |= Q(id__in=list(after)) | Q(ended_at__gt=Now() - JUST_ENDED)
    rows = Execution.objects.filter(wanted, conversation_id=conversation_id).order_by("created_at")
    found = rows.values_list("id", "last_seq", "status")
    return {str(row_id): Progress(last_seq, status in TERMINAL_STATUSES) for row_id, last_seq, status in found}


def runner_is_alive() -> bool:
    return Runner.objects.filter(seen_at__gt=Now() - RUNNER_IS_LOST_AFTER).exists()
