"""Endpoints that wait or stream. DRF is synchronous, so it admits, checks and answers errors in a thread, which is
given back before the waiting begins; a coroutine does the rest.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from hyperagent.lib import outage
from hyperagent.lib.threads import in_thread

log = logging.getLogger(__name__)

Answer = Callable[[], Awaitable[HttpResponseBase]]
# The server buffers what a client does not read, so one response is bounded. The client goes on from its last number.
MAX_BYTES: Final = 8_000_000
RETRY: Final = b"retry: 1000\n\n"
KEEP_ALIVE: Final = b": still here\n\n"
GO_ON: Final = b": enough for one response; ask again with Last-Event-ID\n\n"


class Later(HttpResponse):
    """What a handler returns when the answer comes from a coroutine, which is called outside of any thread."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class ServerSentSerializer(serializers.Serializer[Any]):
    """One event of a stream, as its lines say it."""

    id = serializers.CharField(help_text="The event's number.")
    event = serializers.CharField(help_text="Its type.")
    data = serializers.CharField(help_text="The event as JSON.")  # type: ignore[assignment]


def wants_stream(request: Request) -> bool:
    """Whether `Accept` names an event stream, and likes JSON no better. A `*/*` names none."""
    named = [one.quality for one in request.accepted_types if (one.main_type, one.sub_type) == ("text", "event-stream")]
    json = request.accepted_type("application/json")
    return bool(named) and max(named) >= (json.quality if json else 0)


def place_asked(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """From where on a log is asked for, and what else `shape` knows. `Last-Event-ID` counts as `after`: a fault of it
    has its name. Raises ValidationError."""
    last = request.headers.get("last-event-id")
    checked = shape(data={**request.query_params.dict(), **({"after": last} if last else {})})
    if not checked.is_valid():
        faults = {
            ("Last-Event-ID" if last and name == "after" else name): fault for name, fault in checked.errors.items()
        }
        raise ValidationError(faults)
    found: dict[str, Any] = checked.validated_data
    return found


class AsyncAnswerView(APIView):
    """A DRF view whose handlers may return `Later`."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # Errors are JSON for those too who only accept an event stream.
        return JSONRenderer(), JSONRenderer.media_type

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        admit = super().as_view(**initkwargs)

        def admitted(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            response = admit(request, *args, **kwargs)
            return response.render() if hasattr(response, "render") else response

        async def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            response = await in_thread(admitted)(request, *args, **kwargs)
            if not isinstance(response, Later):
                return response
            try:
                return await response.answer()
            except Exception as error:
                # In the shape of this view's errors: a protocol's own, where it speaks one.
                failed = await in_thread(cls(**initkwargs).get_exception_handler())(error, {})
                if failed is None:
                    raise
                headers = {name: value for name, value in failed.items() if name.lower() != "content-type"}
                return JsonResponse(failed.data, status=failed.status_code, headers=headers)

        # What Django and the schema generator look for on a class-based view.
        view.csrf_exempt = True  # type: ignore[attr-defined]
        view.cls = cls  # type: ignore[attr-defined]
        view.initkwargs = initkwargs  # type: ignore[attr-defined]
        return view


def event_stream(parts: AsyncGenerator[bytes, None], *, of: str, farewell: bytes = b"") -> StreamingHttpResponse:
    """`of`: what is streamed, for the log. Where Postgres or Redis goes away the headers are out, so it can only end:
    with `farewell`. Clients of event streams come back by themselves."""
    response = StreamingHttpResponse(_until_outage(parts, of, farewell), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # nginx would collect the events before it passes them on.
    response["X-Accel-Buffering"] = "no"
    return response


async def _until_outage(parts: AsyncGenerator[bytes, None], of: str, farewell: bytes) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
    except Exception as error:
        if not outage.is_outage(error):
            raise
        log.warning("the stream of %s ends early: %s", of, error)
        if farewell:
            yield farewell
