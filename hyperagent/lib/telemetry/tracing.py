"""The door to traces: who works on something says so here. Where nobody collects traces it costs a look at a value, and
nothing is imported for it; `hyperagent.lib.telemetry.exporting` is what stands behind the door.

A span says who did what and for how long, never what people, models or tools wrote; see `captures_content`.
"""

import os
import re
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, Final

TRACEPARENT: Final = "traceparent"
# Of all zeros it would be no trace's.
_TRACEPARENT: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_asked_in: ContextVar[str] = ContextVar("asked_in", default="")
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

Attributes = Mapping[str, str | int | float | bool | list[str] | None]


class Kind(StrEnum):
    """Which side of a call a span is, as OpenTelemetry names it."""

    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    INTERNAL = "internal"


class Span:
    """A piece of work. This one is told to nobody."""

    __slots__ = ()
    traceparent: str = ""
    """W3C's header for what belongs below it; empty where nobody is told."""

    def set(self, attributes: Attributes) -> None:
        """What is None is left out."""

    def rename(self, name: str) -> None:
        """For what is known only once the work has begun."""

    def failed(self, kind: str) -> None:
        """`kind`: a class of errors, never their text."""

    def end(self) -> None:
        """Twice does no harm."""

    def within(self) -> AbstractContextManager[object]:
        """Inside it what begins is below this span, and log lines name it. Does not end it."""
        return nullcontext()


NOTHING: Final = Span()


@cache
def is_on() -> bool:
    """Whether somebody collects traces: decided once a process, by OpenTelemetry's own variables."""
    env = os.environ
    is_off = env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or env.get("OTEL_TRACES_EXPORTER") == "none"
    return not is_off and any(env.get(name, "").strip() for name in _ENDPOINTS)


@cache
def captures_content() -> bool:
    """Whether prompts, answers and arguments may leave with the spans. Only ever by the operator's own word."""
    return is_on() and os.environ.get("OTEL_CAPTURE_CONTENT", "").strip().lower() in ("true", "1", "yes", "on")


def begin(
    name: str,
    *,
    kind: Kind = Kind.INTERNAL,
    attributes: Attributes | None = None,
    parent: "Span | str | None" = None,
    link: str = "",
    own: str = "",
    began_ns: int | None = None,
) -> Span:
    """A span that has begun: below `parent`, a span or a `traceparent`, or else below the one that is current here.

    `own`: the `traceparent` that this very span is to have, so that others find it without being told. `link`: the one
    of another attempt at the same. `began_ns`: nanoseconds since 1970, where it began earlier.
    """
    if not is_on():
        return NOTHING
    begun: Span = _exporting().begin(
        name, kind=kind, attributes=attributes, parent=parent, link=link, own=own, began_ns=began_ns
    )
    return begun


def traceparent() -> str:
    """Of the current span; empty without one."""
    return str(_exporting().current_traceparent()) if is_on() else ""


@contextmanager
def asked_in(header: str) -> Iterator[None]:
    """Within it `carried` goes on in the trace of whoever asked, by their own `traceparent`, also where nobody collects
    spans here. Nothing for a header that is none."""
    token = _asked_in.set(header if _TRACEPARENT.fullmatch(header) else "")
    try:
        yield
    finally:
        _asked_in.reset(token)


def carried() -> dict[str, str]:
    """What a row or a message carries, so that whoever goes on with it, in whatever process, goes on in this trace."""
    current = traceparent() or _asked_in.get()
    return {TRACEPARENT: current} if current else {}


def trace_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: a line says in which span it was written."""
    if is_on() and (current := traceparent()):
        _, event["trace_id"], event["span_id"], _ = current.split("-")
    return event


def flush() -> None:
    """Sends what is left, for two seconds at most. For a process that is about to end."""
    if is_on():
        _exporting().flush()


def _exporting() -> Any:
    """The SDK: half a second of import, and only where it is used."""
    return import_module("hyperagent.lib.telemetry.exporting")
