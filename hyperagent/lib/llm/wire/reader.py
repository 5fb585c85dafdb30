"""What the readers of all three protocols share: framing, gathering, and the answer that came together. No I/O."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from hyperagent.lib.llm.errors import Reason
from hyperagent.lib.llm.types import FinishReason, Piece, TextDelta, ThinkingDelta, ToolCall, Usage
from hyperagent.lib.llm.wire.faults import ErrorInStream, WireFault, error_in
from hyperagent.lib.llm.wire.sse import EventSplitter
from hyperagent.lib.llm.wire.think import ThinkSplitter
from hyperagent.lib.text import GrowingText, clean_text

ANSWER_LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """All that one stream said. `finish_reason` is None when it was cut off before its end."""

    text: str
    thinking: str | None
    thinking_signature: str | None
    tool_calls: tuple[ToolCall, ...]
    finish_reason: FinishReason | None
    usage: Usage
    cost_usd: Decimal | None
    """What the provider itself says that the call cost."""
    pieces: int = 0
    """In how many it came, those of calls too."""

    @property
    def is_counted(self) -> bool:
        """Whether the provider has said what it took."""
        return self.usage != Usage() or self.cost_usd is not None

    @property
    def is_broken(self) -> bool:
        """Whether it ended before all of it was said, what it took included."""
        return self.finish_reason is None or not self.is_counted


@dataclass(slots=True)
class OpenCall:
    """A tool call that is still being written."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class StreamReader(ABC):
    """Feed it the response's bytes; it returns deltas at once and the whole answer at the end.

    `call_prefix` makes ids for tool calls where the provider gives none or gives one twice.
    """

    def __init__(self, *, call_prefix: str, think_tags: bool = False) -> None:
        self._events = EventSplitter(limit_bytes=ANSWER_LIMIT_BYTES)
        self._pieces: list[Piece] = []
        self._text = GrowingText()
        self._thinking = GrowingText()
        self._think_tags = ThinkSplitter() if think_tags else None
        self._call_prefix = call_prefix
        self.signature: str | None = None
        self.calls: dict[Any, OpenCall] = {}
        self.finish_reason: FinishReason | None = None
        self.usage = Usage()
        self.cost_usd: Decimal | None = None
        self.ended = False
        """The provider said that nothing more comes (a cut stream ends without)."""
        self.is_broken_off = False
        """The provider said that it could not go on; what it says after that, such as what it took, counts."""
        self.has_begun = False
        """Something was read that is part of an answer."""
        self._said = 0

    @abstractmethod
    def read(self, event: dict[str, Any]) -> None:
        """Takes in one event of this protocol, or a whole answer that came without a stream."""

    def feed(self, chunk: bytes) -> list[Piece]:
        """Raises WireFault and ErrorInStream."""
        for payload in self._events.feed(chunk):
            self._take(payload)
        return self._ready()

    def feed_whole(self, body: bytes) -> list[Piece]:
        """For servers that answer a stream request with one JSON body."""
        self._take(body)
        self.ended = True
        return self._ready()

    def feed_event(self, event: dict[str, Any]) -> list[Piece]:
        """An event that somebody else parsed."""
        self._read(event)
        return self._ready()

    def finish(self) -> list[Piece]:
        """At the end of the bytes: what was held back."""
        for payload in self._events.finish():
            self._take(payload)
        if self._think_tags:
            self._gather(self._think_tags.finish())
        return self._ready()

    def answer(self) -> Answer:
        calls = tuple(self._closed_calls())
        finish_reason = self.finish_reason
        if finish_reason is None and self.ended and not self.is_broken_off:
            finish_reason = FinishReason.STOP
        if finish_reason is FinishReason.STOP and calls:
            finish_reason = FinishReason.TOOL_CALLS
        return Answer(
            text=str(self._text),
            thinking=str(self._thinking) or None,
            thinking_signature=self.signature,
            tool_calls=calls,
            finish_reason=finish_reason,
            usage=self.usage,
            cost_usd=self.cost_usd,
            pieces=self.pieces,
        )

    @property
    def pieces(self) -> int:
        """In how many the answer came until now, those of calls too."""
        return self._said + sum(len(call.arguments) for call in self.calls.values())

    def say(self, text: Any) -> None:
        if not isinstance(text, str) or not text:
            return
        text = clean_text(text)
        if self._think_tags:
            self._gather(self._think_tags.feed(text))
        else:
            self._text.append(text)
            self._add(TextDelta, text)

    def think(self, text: Any) -> None:
        if isinstance(text, str) and text:
            text = clean_text(text)
            self._thinking.append(text)
            self._add(ThinkingDelta, text)

    def _gather(self, pieces: list[tuple[bool, str]]) -> None:
        for thinking, text in pieces:
            if thinking:
                self.think(text)
            else:
                self._text.append(text)
                self._add(TextDelta, text)

    def _add(self, kind: type[Piece], text: str) -> None:
        """Pieces of one kind that came in one chunk are one: whoever takes them does as much for each."""
        self._said += 1
        last = self._pieces[-1] if self._pieces else None
        if type(last) is kind:
            self._pieces[-1] = kind(last.text + text)
        else:
            self._pieces.append(kind(text))

    def _ready(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _take(self, payload: bytes) -> None:
        if payload == b"[DONE]":
            self.ended = True
            return
        self._read(_parse(payload))

    def _read(self, event: dict[str, Any]) -> None:
        fields = error_in(event)
        if fields is not None:
            raise ErrorInStream(fields)
        try:
            self.read(event)
        except RecursionError as error:
            raise WireFault("an event that is nested too deeply") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise WireFault(f"an event of an unknown shape: {str(event)[:200]}") from error
        self.has_begun = True

    def _closed_calls(self) -> list[ToolCall]:
        taken: set[str] = set()
        closed = []
        for number, call in enumerate(self.calls.values()):
            call_id = clean_text(call.id)
            if not call_id or call_id in taken:
                call_id = f"call_{self._call_prefix}_{number}"
            taken.add(call_id)
            arguments = clean_text("".join(call.arguments)).strip() or "{}"
            closed.append(ToolCall(id=call_id, name=clean_text(call.name), arguments=arguments))
        return closed


@dataclass(slots=True)
class Underway:
    """How far a call has come, for whoever has to know when it broke. `reader`: of what comes, once the request is on
    its way. `is_accepted`: the provider has begun to answer, and not with an error."""

    reader: StreamReader | None = None
    is_accepted: bool = False

    def answer(self) -> Answer | None:
        """What there is of it."""
        return None if self.reader is None else self.reader.answer()

    def is_billed(self, reason: Reason | None) -> bool:
        """Whether its provider wants to be paid, where it ended for this reason; None: whoever asked has left. Not what
        it refused before anything was made, nor what it was not asked; but what we ceased to wait for."""
        if self.reader is None:
            return False
        if self.reader.has_begun or reason in (None, Reason.NO_FIRST_TOKEN, Reason.SILENCE):
            return True
        return self.is_accepted and reason is Reason.STREAM_CUT


def count(value: Any) -> int:
    """A provider's token count; null and nonsense count nothing."""
    return value if isinstance(value, int) and value > 0 else 0


def _parse(payload: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(payload)
    except orjson.JSONDecodeError:
        event = _parse_leniently(payload)
    if not isinstance(event, dict):
        raise WireFault(f"an event that is no object: {payload[:200]!r}")
    return event


def _parse_leniently(payload: bytes) -> Any:
    """orjson refuses lone surrogates, which servers send that cut an emoji in two; the standard library reads them."""
    try:
        return json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise WireFault(f"an event that is no JSON: {payload[:200]!r}") from error
