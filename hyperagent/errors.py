"""What is shown when a request fails outside of the API's own views: a page, or the error shape where programs ask.
Never the text of an exception: an id, under which the log has it.
"""

import sys
import uuid
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.csrf import csrf_exempt

from hyperagent.lib import outage
from hyperagent.lib.refusals import error_object

log = structlog.get_logger(__name__)

# What comes first in an address that no person opens.
_OF_PROGRAMS = ("api", "v1", "mcp", "a2a", ".well-known", "healthz", "readyz", "metrics")
_CODES = {400: "bad_request", 403: "not_allowed", 404: "not_found", 500: "internal", 503: outage.CODE}
_STALE_FORM = gettext_noop("This page was open for too long. Go back, reload it and try again.")
_MESSAGES = {
    400: gettext_noop("The request cannot be read. Check what was sent."),
    403: gettext_noop("You may not see or do this. If you think that you should, ask an administrator."),
    404: gettext_noop("There is nothing here that you may see. Check the address and its id."),
    500: gettext_noop(
        "Something went wrong here. Try again; if it stays, tell an administrator the number of this request."
    ),
    503: outage.MESSAGE,
}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400)


def not_allowed(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, 403, _STALE_FORM)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """503 while Postgres or Redis is away: nothing is broken, and trying again helps."""
    error = sys.exc_info()[1]
    away = outage.is_outage(error)
    if away:
        outage.heal(error)
    return _answer(request, 503 if away else 500)


@csrf_exempt
def api_not_found(request: HttpRequest, rest: str) -> HttpResponse:
    return _answer(request, 404)


def only_looked_at(request: HttpRequest) -> HttpResponse:
    """To whoever would change what can only be looked at."""
    error = error_object("method_not_allowed", f"{request.path} is only looked at: use GET.")
    return JsonResponse({"error": error}, status=405, headers={"Allow": "GET, HEAD"})


def _answer(request: HttpRequest, status: int, message: str = "") -> HttpResponse:
    told = _(message or _MESSAGES[status])
    request_id = _request_id()
    if status >= 500:
        log.error("request_failed", status=status, request_id=request_id, path=request.path)
    # A path may have no slash at all: "*", which asks for the server itself.
    is_program = request.path.removeprefix("/").partition("/")[0] in _OF_PROGRAMS
    response = _as_json(status, told, request_id) if is_program else _as_page(request, status, told, request_id)
    if status == 503:
        response["Retry-After"] = str(outage.RETRY_AFTER_S)
    return response


def _as_json(status: int, message: str, request_id: str) -> HttpResponse:
    # The same body for what is missing and for what is another's, so no id in it.
    more: dict[str, Any] = {} if status == 404 else {"request_id": request_id}
    return JsonResponse({"error": error_object(_CODES[status], message, **more)}, status=status)


def _as_page(request: HttpRequest, status: int, message: str, request_id: str) -> HttpResponse:
    """For who is signed in within the frame of all pages, unless the server itself fails: then nothing is asked of the
    database, which may be what failed.
    """
    known = {"message": message, "request_id": request_id}
    if status < 500 and _is_signed_in(request):
        text = loader.render_to_string(f"{status}.html", {**known, "around": "error_in_frame.html"}, request)
    else:
        text = loader.render_to_string(f"{status}.html", known)
    return HttpResponse(text, status=status)


def _is_signed_in(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    try:
        return user is not None and user.is_authenticated
    except outage.AWAY:
        return False


def _request_id() -> str:
    """The id that the log's lines of this request carry."""
    return str(structlog.contextvars.get_contextvars().get("request_id") or uuid.uuid4())
