"""What OpenTelemetry's SDK does for us: spans as they are collected, and their way out. Imported where traces are on.

Everything about where and how much is read by the SDK itself from OpenTelemetry's own variables.
"""

import atexit
import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cache
from multiprocessing import util
from typing import Any, Final

import structlog
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hyperagent.lib.conf import secrets_in
from hyperagent.lib.log import redact
from hyperagent.lib.telemetry.tracing import TRACEPARENT, Attributes, Kind, Span

log = structlog.get_logger(__name__)

FLUSH_S: Final = 2.0
MOST_CHARS: Final = 16_000
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_KINDS: Final = {kind: SpanKind[kind.name] for kind in Kind}
_own_ids: "ContextVar[SpanContext | None]" = ContextVar("_own_ids", default=None)


class LiveSpan(Span):
    """A span that somebody collects. Its texts leave without our secrets."""

    __slots__ = ("_span", "traceparent")

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self.traceparent = _written(span.get_span_context())

    def set(self, attributes: Attributes) -> None:
        if self._span.is_recording():
            self._span.set_attributes(_clean(attributes))

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def failed(self, kind: str) -> None:
        if self._span.is_recording():
            self._span.set_attribute("error.type", kind)
            self._span.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        if self._span.is_recording():
            self._span.end()

    def within(self) -> AbstractContextManager[object]:
        return trace.use_span(self._span, record_exception=False, set_status_on_exception=False)


def begin(
    name: str,
    *,
    kind: Kind,
    attributes: Attributes | None,
    parent: Span | str | None,
    link: str,
    own: str,
    began_ns: int | None,
) -> LiveSpan:
    above = parent.traceparent if isinstance(parent, Span) else parent
    token = _own_ids.set(_read(own)) if own else None
    linked = _read(link) if link else None
    try:
        span = _tracer(os.getpid()).start_span(
            name,
            context=_PROPAGATOR.extract({TRACEPARENT: above}) if above else None,
            kind=_KINDS[kind],
            attributes=_clean(attributes or {}),
            links=[Link(linked)] if linked is not None else None,
            start_time=began_ns,
        )
    finally:
        if token is not None:
            _own_ids.reset(token)
    return LiveSpan(span)


def current_traceparent() -> str:
    context = trace.get_current_span().get_span_context()
    return _written(context) if context.is_valid else ""


def flush() -> None:
    """A collector that is away must not hold up a process that ends: what is not out by then is dropped."""
    provider = _providers.get(os.getpid())
    if provider is None:
        return
    sending = threading.Thread(target=provider.shutdown, name="last-traces", daemon=True)
    try:
        sending.start()
    except RuntimeError:  # the interpreter is ending already, and starts no thread any more
        return
    sending.join(FLUSH_S)


class _Ids(RandomIdGenerator):
    """Chance, but for spans that must be known by others before they were told of them."""

    def generate_trace_id(self) -> int:
        own = _own_ids.get()
        return super().generate_trace_id() if own is None else own.trace_id

    def generate_span_id(self) -> int:
        own = _own_ids.get()
        return super().generate_span_id() if own is None else own.span_id


class _Exporter(SpanExporter):
    """The SDK's, with one line in the log when spans begin to be dropped and one when they arrive again."""

    def __init__(self) -> None:
        self._to_collector = OTLPSpanExporter()
        self._is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._to_collector.export(spans)
        is_away = result is not SpanExportResult.SUCCESS
        if is_away and not self._is_away:
            log.warning("traces.not_exported", why="the collector does not take them; they are dropped until it does")
        elif self._is_away and not is_away:
            log.info("traces.exported_again")
        self._is_away = is_away
        return result

    def shutdown(self) -> None:
        self._to_collector.shutdown()  # type: ignore[no-untyped-call]


_providers: dict[int, TracerProvider] = {}
_making = threading.Lock()


def _provider(pid: int) -> TracerProvider:
    """One for each process: a forked one sends by itself."""
    with _making:
        if pid not in _providers:
            _providers[pid] = _made(pid)
        return _providers[pid]


def _made(pid: int) -> TracerProvider:
    """The sampler and the batches obey the SDK's variables."""
    resource = Resource.create(
        {
            # Set by its own variable it stays what that says.
            **({} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "hyperagent"}),
            "service.instance.id": os.environ.get("HYPERAGENT_NAME") or str(pid),
            "hyperagent.process": os.environ.get("HYPERAGENT_PROCESS", ""),
            "process.pid": pid,
        }
    )
    provider = TracerProvider(id_generator=_Ids(), resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_Exporter()))
    # The processes of the queue are forked, and end without `atexit`.
    if os.environ.get("HYPERAGENT_PROCESS") == "queue":
        util.Finalize(None, flush, exitpriority=1)
    else:
        atexit.register(flush)
    return provider


@cache
def _tracer(pid: int) -> trace.Tracer:
    return _provider(pid).get_tracer("hyperagent")


@cache
def _secrets() -> tuple[str, ...]:
    return secrets_in(os.environ)


def _clean(attributes: Attributes) -> dict[str, Any]:
    return {
        name: redact(value, _secrets())[:MOST_CHARS] if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def _written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _read(traceparent: str) -> SpanContext | None:
    found = trace.get_current_span(_PROPAGATOR.extract({TRACEPARENT: traceparent})).get_span_context()
    return found if found.is_valid else None
