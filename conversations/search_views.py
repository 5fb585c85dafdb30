"""The page of the search over everything. It works without JavaScript; with it the same page is read anew while one
types.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from conversations.api.search import AskedSerializer
from conversations.searching import words
from conversations.searching.everything import find
from conversations.searching.full_text import MOST_MESSAGES
from conversations.searching.values import MOST_PAGES, Asked, Kind, Result, Results
from hyperagent.accounts.metering import take
from hyperagent.accounts.models import User
from hyperagent.accounts.quotas import Work
from hyperagent.lib.refusals import TooMuch
from hyperagent.lib.text import clean_text

NAMES = {
    Kind.CONVERSATION: gettext_lazy("Conversations"),
    Kind.MESSAGE: gettext_lazy("Messages"),
    Kind.DOCUMENT: gettext_lazy("Documents"),
    Kind.FILE: gettext_lazy("Files"),
    Kind.MEMORY: gettext_lazy("Memories"),
    Kind.PROJECT: gettext_lazy("Projects"),
}


@never_cache
@login_required
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    given = {name: clean_text(str(value)) for name, value in request.GET.items() if str(value).strip()}
    named = {{"from": "since", "to": "until"}.get(name, name): value for name, value in given.items()}
    form = AskedSerializer(data=named)
    if not form.is_valid():
        fault = _("These dates or words cannot be searched for. Clear the filters and try again.")
        return _page(request, given, Asked(""), Results(), fault=fault, status=400)
    asked = form.asked()
    try:
        if _says_something(asked):
            take(user.pk, Work.SEARCH)
    except TooMuch as refused:
        answer = _page(request, given, asked, Results(), fault=refused.message, status=refused.status)
        answer["Retry-After"] = str(refused.retry_after_s)
        return answer
    return _page(request, given, asked, find(user, asked))


def _says_something(asked: Asked) -> bool:
    return words.says_something(words.sought(asked.query))


def _page(
    request: HttpRequest, given: Mapping[str, str], asked: Asked, found: Results, *, fault: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "given": {name: given.get(name, "") for name in ("q", "kind", "from", "to")},
        "fault": fault,
        "is_asked": _says_something(asked),
        "found": found,
        "rows": [_row(one) for one in found.results],
        "tabs": _tabs(request, asked, found),
        "next_page": _address(request, page=str(asked.page + 1)) if _has_next(asked, found) else "",
        "previous_page": _address(request, page=str(asked.page - 1)) if asked.kind and asked.page > 1 else "",
        "without_dates": _address(request, **{"from": "", "to": ""}) if asked.since or asked.until else "",
    }
    return render(request, "conversations/search.html", context, status=status)


def _row(one: Result) -> dict[str, Any]:
    return {
        "kind": one.kind.value,
        "role": one.role,
        "url": one.url,
        "title": one.title_pieces,
        "excerpt": one.excerpt,
        "at": one.at,
        "what": _what(one),
    }


def _what(one: Result) -> str:
    match one.kind:
        case Kind.CONVERSATION:
            return _("Conversation")
        case Kind.MESSAGE:
            return _("Your question") if one.role == "user" else _("Answer")
        case Kind.DOCUMENT:
            return _("Document")
        case Kind.FILE:
            return _("File")
        case Kind.MEMORY:
            return _("Memory")
        case Kind.PROJECT:
            return _("Project")


def _tabs(request: HttpRequest, asked: Asked, found: Results) -> list[dict[str, Any]]:
    tabs: list[dict[str, Any]] = [
        {"name": _("All"), "url": _address(request, kind=""), "is_current": asked.kind is None}
    ]
    for kind, name in NAMES.items():
        count = found.counts.get(kind, 0)
        tabs.append(
            {
                "name": name,
                "count": f"{count}+" if kind is Kind.MESSAGE and count >= MOST_MESSAGES else str(count),
                "url": _address(request, kind=kind.value),
                "is_current": asked.kind is kind,
                "is_empty": count == 0,
            }
        )
    return tabs


def _has_next(asked: Asked, found: Results) -> bool:
    return found.more and asked.kind is not None and asked.page < MOST_PAGES


def _address(request: HttpRequest, **changed: str) -> str:
    """This page's own, with these filters; another kind begins with its first page."""
    query = request.GET.copy()
    for name in ("page", *changed):
        query.pop(name, None)
    for name, value in changed.items():
        if value:
            query[name] = value
    return f"?{query.urlencode()}"
