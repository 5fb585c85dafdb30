"""Reading the event log and runs for the web: synchronous, read-only, by number. Writes nothing and announces
nothing.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import orjson
from django.db import connection
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from agents.engine.events import TERMINAL_TYPES
from agents.engine.states import TERMINAL_STATUSES
from agents.models import Event, Execution, Runner
from hyperagent.lib.refusals import Gone

PAGE = 200
# Enough for a page of token frames; a page of huge events is cut earlier, so that a reader's memory stays bounded.
PAGE_BYTES = 1_000_000
JUST_ENDED = timedelta(seconds=15)
RUNNER_IS_LOST_AFTER = timedelta(seconds=30)
_LATELY = ~Q(status__in=TERMINAL_STATUSES) | Q(ended_at__gt=Now() - JUST_ENDED)


LOG_NOT_KEPT = _("The log of this run, with its steps, is no longer kept. Its question and its answer are.")


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


def with_log(execution: Execution) -> Execution:
    """The same, whose log can be read. Raises Gone once it is kept no longer."""
    if execution.log_dropped_at is not None:
        raise Gone("log_not_kept", str(LOG_NOT_KEPT))
    return execution


def log_end(run: str = "") -> Coalesce:
    """The number of a run's last event, as an expression; `run` leads to the run, such as `execution__`.

    The run's own column is written when its driver leaves it, not with each event. One look at an index.
    """
    newest = Event.objects.filter(execution=OuterRef(f"{run}pk")).order_by("-seq").values("seq")[:1]
    return Coalesce(Subquery(newest), 0)


_AFTER = """
    SELECT seq, type, body, frames FROM (
        SELECT seq, type, body, frames,
               sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS bytes_before FROM (
            SELECT seq, type, body, frames FROM agents_event
             WHERE execution_id = %(execution)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s
        ) AS next
    ) AS page WHERE bytes_before <= %(bytes)s ORDER BY seq
"""


def events_after(execution_id: uuid.UUID | str, after: int, *, limit: int = PAGE) -> list[LoggedEvent]:
    """The next events in order, without a gap: at most `limit`, and no more once PAGE_BYTES are full. One query."""
    values = {"execution": execution_id, "after": after, "limit": limit, "bytes": PAGE_BYTES}
    with connection.cursor() as cursor:
        cursor.execute(_AFTER, values)
        rows = cursor.fetchall()
    events = [event for row in rows for event in unfolded(*row) if event.seq > after][:limit]
    return [event for place, event in enumerate(events, after + 1) if event.seq == place]


def given_anew(marks: Iterable[tuple[str, int, int]]) -> set[str]:
    """The runs whose event of that number was not then: the log lost its end, and gave the number to another. `marks`:
    run, number, and when the reader's event was, as it says, in ms. One query for each."""
    stored = {run: (at_ms, events_after(run, seq - 1, limit=1)) for run, seq, at_ms in marks if seq > 0}
    return {run for run, (at_ms, rows) in stored.items() if rows and orjson.loads(rows[0].body)["timestamp"] != at_ms}


_WITHOUT = """
    SELECT seq, type, body FROM (
        SELECT seq, type, body, sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS bytes_before FROM (
            SELECT seq, type, body FROM agents_event
             WHERE execution_id = %(execution)s AND seq > %(after)s AND type <> %(without)s ORDER BY seq LIMIT %(limit)s
        ) AS next
    ) AS page WHERE bytes_before <= %(bytes)s ORDER BY seq
"""


def events_without(kind: str, execution_id: uuid.UUID | str, after: int, *, limit: int = PAGE) -> list[LoggedEvent]:
    """As `events_after`, but for events of this type: for whoever wants to know how a run went, not what it said."""
    values = {"execution": execution_id, "after": after, "limit": limit, "bytes": PAGE_BYTES, "without": kind}
    with connection.cursor() as cursor:
        cursor.execute(_WITHOUT, values)
        return [LoggedEvent(seq, type_, body) for seq, type_, body in cursor.fetchall()]


def unfolded(seq: int, kind: str, body: str, frames: int) -> list[LoggedEvent]:
    """The events that a row stands for: itself, or each of the token frames that were folded into it."""
    if frames == 1:
        return [LoggedEvent(seq, kind, body)]
    return [LoggedEvent(number, kind, line) for number, line in enumerate(body.split("\n"), seq - frames + 1)]


def progress_of(execution_id: uuid.UUID | str) -> Progress | None:
    return progress([execution_id]).get(str(execution_id))


def goes_on_after(execution_id: uuid.UUID | str, seq: int) -> bool:
    """Whether its log has more than up to this number."""
    now = progress_of(execution_id)
    return now is not None and now.last_seq > seq


def progress(execution_ids: Iterable[uuid.UUID | str]) -> Mapping[str, Progress]:
    """One query."""
    rows = Execution.objects.filter(id__in=list(execution_ids)).values_list("id", log_end(), "status")
    return {str(execution_id): _progress(*progress) for execution_id, *progress in rows}


def lately_in_conversations(conversation_ids: Iterable[str]) -> Mapping[str, dict[str, Progress]]:
    """For each conversation its runs that go on or have just ended. One query."""
    rows = Execution.objects.filter(_LATELY, conversation_id__in=list(conversation_ids))
    found: dict[str, dict[str, Progress]] = {}
    for conversation_id, execution_id, *progress in rows.values_list("conversation_id", "id", log_end(), "status"):
        found.setdefault(str(conversation_id), {})[str(execution_id)] = _progress(*progress)
    return found


def for_reader(conversation_id: str, named: Iterable[str]) -> Mapping[str, Progress]:
    """The runs whose events somebody who opens the conversation is to be sent: those that it names, those that go
    on, and those that ended since it read the tables. One query.
    """
    rows = Execution.objects.filter(_LATELY | Q(id__in=list(named)), conversation_id=conversation_id)
    found = rows.order_by("created_at").values_list("id", log_end(), "status")
    return {str(execution_id): _progress(*progress) for execution_id, *progress in found}


def _progress(last_seq: int, status: str) -> Progress:
    return Progress(last_seq, status in TERMINAL_STATUSES)


def runner_is_alive() -> bool:
    return Runner.objects.filter(seen_at__gt=Now() - RUNNER_IS_LOST_AFTER).exists()
