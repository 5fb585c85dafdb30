"""What a run has said and not yet stored: records in order, and events that get their numbers when they leave.

The one implementation of the engine's `Journal` port in the product. Performs no I/O: the writer empties it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from agents.engine.chain import GENESIS, link
from agents.engine.errors import LeaseLost
from agents.engine.events import Body
from agents.engine.records import AgentRecord, Announced, Cut, Record, StepRecord
from agents.engine.states import ExecutionStatus, StepKind
from agents.runtime.wall_clock import WALL_CLOCK
from hyperagent.lib.text import json_text


class NotStored(Exception):
    """Something of a run cannot be written down: JSON or Postgres does not take it."""


@dataclass(slots=True)
class Pending:
    """An event without a number. Token frames grow while they wait."""

    agent_id: UUID | None
    body: Body | None
    origin: str
    timestamp_ms: int
    channel: str = ""
    parts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Moved:
    """The execution leaves its driver: ended, waiting for people, or given back."""

    status: ExecutionStatus
    answer: str = ""
    result: Any = None
    error_code: str = ""
    error_message: str = ""


@dataclass(frozen=True, slots=True)
class Progressed:
    """A step was recorded: whatever lost the run's runners before, it is not stuck."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A call of a model is over: what it took of what was reserved for it. `usd`: "0" where its price is not known."""

    call_id: UUID
    usd: str = "0"
    tokens: int = 0
    is_unpriced: bool = False


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """A call of a model that was interrupted on its way. Its step counts for nothing but what it took; the `call_id` in
    its usage tells it from others at the same path, so that it is stored once."""

    step: StepRecord


@dataclass(frozen=True, slots=True)
class PlacedCut:
    """A cut and the number of the last event before it: only emissions up to there may be made again."""

    cut: Cut
    last_seq: int


@dataclass(frozen=True, slots=True)
class Flagged:
    """A row beside the event that was written right before it (`agents.guardrails.reporting`). `seq`: its number, once
    it has one; until then how many events wait up to it."""

    agent_id: UUID
    place: str
    scanner: str
    kind: str
    certainty: str
    action: str
    reason: str
    excerpt: str
    tool: str
    count: int
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """An event as it is stored: `body` is the exact JSON text that is sent, too."""

    seq: int
    agent_id: UUID | None
    type: str
    body: str
    hash: bytes
    origin: str
    timestamp_ms: int


@dataclass(slots=True)
class Parcel:
    """What leaves an outbox in one transaction. `is_awaited`: somebody goes on only once it is stored."""

    outbox: "Outbox"
    records: list[Any]
    rows: list[Row]
    marks: int
    last_seq: int
    last_hash: bytes
    is_awaited: bool

    @property
    def may_be_lost(self) -> bool:
        """Whether its commit need not wait for the disk: should a crash of Postgres take it, the run says it again.
        Not without events: it is by their absence that whoever drives the run learns of it (`store.APPEND_EVENTS`)."""
        return bool(self.rows) and not self.is_awaited and all(map(_may_wait, self.records))


class Outbox:
    """One run's unsent records and events under one epoch."""

    def __init__(
        self,
        execution_id: UUID,
        *,
        epoch: int,
        group: str,
        wake_writer: Callable[["Outbox", bool], None],
        last_seq: int = 0,
        last_hash: bytes = GENESIS,
        first_token_ms: int | None = None,
        thought_ms: tuple[int, int] | None = None,
    ) -> None:
        self.execution_id = execution_id
        self.epoch = epoch
        self.group = group
        self.last_seq = last_seq
        self.last_hash = last_hash
        self.first_token_ms = first_token_ms
        """When people saw the first word of an answer, as its event says; None if they have seen none yet."""
        self.thought_ms = thought_ms
        """When the first and the last frame of thoughts were shown; None if there were none."""
        self.error: BaseException | None = None
        self._wake_writer = wake_writer
        self._records: list[Any] = []
        self._events: list[Pending] = []
        self._written = 0
        self._stored = 0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._begun: set[tuple[UUID, str]] = set()

    # --- the engine's port

    def write(self, *records: Record | Any) -> None:
        self._check()
        at_once = False
        for record in records:
            if isinstance(record, Announced):
                self._events.append(Pending(record.agent_id, record.body, record.origin, WALL_CLOCK.now_ms()))
            else:
                self._records.append(_waiting(record, events=len(self._events)))
                at_once = at_once or not _may_wait(record)
        self._written += 1
        self._wake_writer(self, at_once)

    async def committed(self) -> None:
        self._check()
        if self._stored < self._written:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((self._written, future))
            self._wake_writer(self, True)
            await future

    # --- the hot path

    def add_token(self, agent_id: UUID, channel: str, text: str) -> None:
        """Appends to the frame that waits, or begins one. Costs no encoding: that is done once a frame."""
        last = self._events[-1] if self._events else None
        if last is not None and last.body is None and last.agent_id == agent_id and last.channel == channel:
            last.parts.append(text)
            return
        self._check()
        frame = Pending(agent_id, None, "", WALL_CLOCK.now_ms(), channel, [text])
        if channel == "thinking":
            self.thought_ms = (self.thought_ms or (frame.timestamp_ms, 0))[0], frame.timestamp_ms
        elif self.first_token_ms is None:
            self.first_token_ms = frame.timestamp_ms
        self._events.append(frame)
        self._written += 1
        # Somebody waits for the first words; what follows is read as it comes.
        self._wake_writer(self, (agent_id, channel) not in self._begun)
        self._begun.add((agent_id, channel))

    # --- the writer's side

    @property
    def ends_in_words(self) -> bool:
        """Whether what was said last, and waits, is a token frame."""
        return bool(self._events) and self._events[-1].body is None

    def take(self) -> Parcel:
        """Empties the outbox; numbers, encodes and chains its events."""
        records, self._records = [_placed(record, self.last_seq) for record in self._records], []
        events, self._events = self._events, []
        rows = []
        for event in events:
            self.last_seq += 1
            body = self._encode(event, self.last_seq)
            self.last_hash = link(self.last_hash, body)
            kind = "token" if event.body is None else event.body.type  # type: ignore[attr-defined]
            rows.append(
                Row(self.last_seq, event.agent_id, kind, body, self.last_hash, event.origin, event.timestamp_ms)
            )
        return Parcel(self, records, rows, self._written, self.last_seq, self.last_hash, is_awaited=bool(self._waiters))

    def stored(self, marks: int) -> None:
        """Everything up to this mark is durable."""
        self._stored = marks
        ready = [future for mark, future in self._waiters if mark <= marks]
        self._waiters = [(mark, future) for mark, future in self._waiters if mark > marks]
        for future in ready:
            if not future.done():
                future.set_result(None)

    def refuse(self, error: BaseException) -> None:
        """Nothing more will be stored: whoever writes or waits is told why."""
        self.error = error
        # Tokens join the frame that waits without a look at the error; without one, the next of them ends the run here.
        self._events.clear()
        for _, future in self._waiters:
            if not future.done():
                future.set_exception(error)
        self._waiters.clear()

    def reopen(self, *, last_seq: int, last_hash: bytes) -> None:
        """After a refusal: forgets what was not stored and takes up the log at its stored end."""
        self.error = None
        self.last_seq, self.last_hash = last_seq, last_hash
        self._records.clear()
        self._events.clear()

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def _encode(self, event: Pending, seq: int) -> str:
        head = {
            "type": "token",
            "seq": seq,
            "execution_id": self.execution_id,
            "agent_id": event.agent_id,
            "timestamp": event.timestamp_ms,
        }
        if event.body is None:
            head["content"] = "".join(event.parts)
            head["channel"] = event.channel
        else:
            head |= event.body.model_dump(mode="json", exclude_none=True)
        return json_text(head)


def _may_wait(record: Any) -> bool:
    """Until the tick, or whatever is stored before it: what a run notes for itself, and whom it forks, it notes and
    forks again where that is lost."""
    is_own = isinstance(record, StepRecord) and record.kind in (StepKind.NOTE, StepKind.FORK)
    return is_own or isinstance(record, AgentRecord)


def _waiting(record: Any, *, events: int) -> Any:
    """The record as it waits, with how many events wait before it if its place among them matters."""
    match record:
        case Cut():
            return PlacedCut(record, events)
        case Flagged():
            return replace(record, seq=events)
        case _:
            return record


def _placed(record: Any, last_seq: int) -> Any:
    """Until now these knew only how many events waited before them."""
    match record:
        case PlacedCut():
            return replace(record, last_seq=last_seq + record.last_seq)
        case Flagged():
            return replace(record, seq=last_seq + record.seq)
        case _:
            return record


def lost() -> LeaseLost:
    return LeaseLost("another driver has this run")
