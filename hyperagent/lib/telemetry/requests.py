"""Requests as others see them from outside: a span with W3C's `traceparent` in and out, and what Prometheus counts.

A span names the route, never the path: paths hold links that let people in.
"""

import time
from collections.abc import Awaitable
from typing import Final, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django_structlog.middlewares import RequestMiddleware

from hyperagent.lib.middleware import OfBothKinds
from hyperagent.lib.telemetry import measures, tracing
from hyperagent.lib.telemetry.tracing import NOTHING, TRACEPARENT, Kind, Span

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Asked every few seconds by those who watch us.
WATCHERS: Final = ("/healthz", "/readyz", "/metrics")


class WatchedRequests(OfBothKinds):
    """The outermost middleware: what the others do is part of the request."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        began_s, span = time.perf_counter(), _begun(request)
        try:
            with span.within(), tracing.asked_in(request.headers.get(TRACEPARENT, "")):
                response = cast(HttpResponseBase, self.get_response(request))
            return _ended(request, response, span, began_s=began_s)
        finally:
            span.end()

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        began_s, span = time.perf_counter(), _begun(request)
        try:
            with span.within(), tracing.asked_in(request.headers.get(TRACEPARENT, "")):
                response = await cast(Awaitable[HttpResponseBase], self.get_response(request))
            return _ended(request, response, span, began_s=began_s)
        finally:
            span.end()


class LoggedRequests(RequestMiddleware):
    """The log's line of each request: its path, and not what somebody searches for."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


def _begun(request: HttpRequest) -> Span:
    if not tracing.is_on() or request.path in WATCHERS:
        return NOTHING
    told = {"http.request.method": _method(request), "url.scheme": request.scheme}
    return tracing.begin(
        _method(request), kind=Kind.SERVER, attributes=told, parent=request.headers.get(TRACEPARENT) or None
    )


def _ended(request: HttpRequest, response: HttpResponseBase, span: Span, *, began_s: float) -> HttpResponseBase:
    measures.REQUESTS.labels(_method(request), str(response.status_code)).inc()
    measures.REQUEST_SECONDS.labels(_method(request)).observe(time.perf_counter() - began_s)
    if span is not NOTHING:
        route = "" if request.resolver_match is None else f"/{request.resolver_match.route}"
        span.rename(f"{_method(request)} {route}".strip())
        span.set({"http.route": route or None, "http.response.status_code": response.status_code})
        if response.status_code >= 500:
            span.failed(str(response.status_code))
        response.headers[TRACEPARENT] = span.traceparent
    return response


def _method(request: HttpRequest) -> str:
    """Anybody may send a word of their own."""
    return request.method if request.method in _METHODS else "_OTHER"
