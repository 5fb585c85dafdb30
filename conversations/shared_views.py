"""The public page of a link: read-only, without cookies, and the same plain answer for all links that lead nowhere."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from rest_framework.throttling import SimpleRateThrottle

from conversations.models import Role, Share
from conversations.sharing import actions
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of


class SharedThrottle(SimpleRateThrottle):
    """By network address: whoever has no account has no other name."""

    scope = "shared"

    def get_cache_key(self, request: Any, view: Any) -> str:
        return f"throttle_shared_{address_of(request)}"


@never_cache
@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    if (refused := _too_often(request)) is not None:
        return refused
    link = _link(token)
    content = actions.content(link)
    is_own = request.user.is_authenticated and link.conversation.user_id == request.user.pk
    if request.method == "GET" and not is_own:
        actions.seen(link)
    messages = [_shown(number, message) for number, message in enumerate(content["messages"])]
    context = {
        "title": content["title"],
        "messages_shown": messages,
        "link": link,
        "is_own": is_own,
        "token": token,
        "page_data": {"messages": [{"text": one["text"], "sources": one["sources"]} for one in content["messages"]]},
    }
    return _apart(render(request, "conversations/shared.html", context))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def go_on(request: HttpRequest, token: str) -> HttpResponse:
    """What was read as a conversation of the reader's own. The page asks first: a form on the link's own page would be
    sent without an origin, as that page tells nobody where it is, and be refused."""
    if (refused := _too_often(request)) is not None:
        return refused
    assert isinstance(request.user, User)
    link = _link(token)
    if request.method == "POST":
        return _unlisted(redirect("chat-conversation", actions.go_on(request.user, link).pk))
    context = {"title": actions.content(link)["title"], "token": token}
    return _unlisted(render(request, "conversations/shared_go_on.html", context))


def _link(token: str) -> Share:
    link = actions.opened(token)
    if link is None:
        raise Http404
    return link


def _shown(number: int, message: dict[str, Any]) -> dict[str, Any]:
    is_answer = message["role"] == Role.ASSISTANT
    return {**message, "number": number, "is_answer": is_answer, "at": parse_datetime(message["at"] or "")}


def _too_often(request: HttpRequest) -> HttpResponse | None:
    """So that nobody can try out addresses."""
    throttle = SharedThrottle()
    if throttle.allow_request(request, None):  # type: ignore[arg-type]
        return None
    response = render(request, "conversations/too_often.html", status=429)
    response["Retry-After"] = str(int(throttle.wait() or 1) + 1)
    return _apart(response)


def _apart(response: HttpResponse) -> HttpResponse:
    """Its address is told to nobody to whom a link in it leads."""
    response["Referrer-Policy"] = "no-referrer"
    return _unlisted(response)


def _unlisted(response: HttpResponse) -> HttpResponse:
    """Search engines keep nothing of it."""
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response
