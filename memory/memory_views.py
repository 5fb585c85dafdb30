"""The page of what is remembered: it can be read and changed without JavaScript. The verbs are those of the API."""

import uuid
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.refused_forms import RefusalsTold
from hyperagent.lib.stored_sentences import in_our_words
from memory.kinds import MemoryKind, MemoryStatus, ProfileField
from memory.remembering import actions, listing
from memory.remembering.profile import CRITICAL, NAMES, PREFERENCES
from memory.workspaces.places import talks

PAGE: Final = "memory:memories"
SECTIONS: Final = (
    (MemoryKind.FACT, gettext_noop("About you")),
    (MemoryKind.PREFERENCE, gettext_noop("How you want answers")),
    (MemoryKind.PROCEDURE, gettext_noop("How you do things")),
    (MemoryKind.EPISODE, gettext_noop("What happened")),
)
LONGEST_QUERY: Final = 200
Json = dict[str, Any]


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def memories(request: HttpRequest) -> HttpResponse:
    user = person(request)
    known = listing.everything_of(user)
    query = request.GET.get("q", "").strip()[:LONGEST_QUERY]
    there = _conversations_of(user, known["memories"])
    rows = [_row(one, there) for one in known["memories"]]
    active = [row for row in rows if row["status"] == MemoryStatus.ACTIVE]
    found = [row for row in active if not row["field"] and query.casefold() in row["text"].casefold()]
    context = {
        "is_on": known["on"],
        "query": query,
        "profile": _profile(active),
        "sections": [
            (_(title), some) for kind, title in SECTIONS if (some := [row for row in found if row["kind"] == kind])
        ],
        "waiting": [row for row in rows if row["status"] == MemoryStatus.QUARANTINED],
        "free": sum(1 for row in active if not row["field"]),
        "total": len(rows),
    }
    return render(request, "memory/memories.html", context)


def _conversations_of(user: User, memories: list[Json]) -> Collection[str]:
    """Those that the memories come from or were told in, and that the reader can still open. One query."""
    named = {told["conversation_id"] for one in memories for told in (one["source"], *one["uses"])} - {None}
    return {str(id_) for id_ in talks(user.pk, map(uuid.UUID, named))} if named else ()


def _row(one: Json, there: Collection[str]) -> Json:
    """A memory with its times as the template writes them, our sentences in the reader's language, and where a reader
    finds what it was made of and told in: nowhere if that conversation is not `there`."""
    source = one["source"]
    return {
        **one,
        "source_url": _message_url(source["conversation_id"], source["turn"], there),
        "reason": in_our_words(one["reason"]),
        "said_at": _time(source["said_at"]),
        "last_used": _time(one["last_used_at"]),
        "field_name": _(NAMES[ProfileField(one["field"])]) if one["field"] else "",
        "uses": [
            {
                **use,
                "url": _message_url(use["conversation_id"], None, there),
                "at": _time(use["at"]),
                "why": in_our_words(use["why"]),
            }
            for use in one["uses"]
        ],
        "history": [{**past, "said_at": _time(past["said_at"])} for past in one["history"]],
    }


def _message_url(conversation_id: str | None, turn: str | None, there: Collection[str]) -> str:
    """Of the message that began the turn, as `static/js/to_message.js` reads it; a turn may have another name."""
    if conversation_id not in there:
        return ""
    try:
        return f"/c/{conversation_id}/#m-{uuid.UUID(turn or '')}"
    except ValueError:
        return f"/c/{conversation_id}/"


def _profile(active: list[Json]) -> list[tuple[str, list[tuple[str, list[Json]]]]]:
    """The two parts of the profile, each field with the memories that fill it; those that nothing fills have none."""
    parts = ((_("About you"), CRITICAL), (_("How you want answers"), PREFERENCES))
    return [
        (title, [(_(NAMES[field]), [row for row in active if row["field"] == field]) for field in fields])
        for title, fields in parts
    ]


def _time(iso: str | None) -> datetime | None:
    return datetime.fromisoformat(iso) if iso else None


@never_cache
@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    user = person(request)
    record(AuditKind.EXPORT_TAKEN, actor=actor_of(user), target=Target("memories", ""))
    shown = listing.export_of(user)
    response = JsonResponse(shown, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = 'attachment; filename="memories.json"'
    return response


@login_required
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    on = request.POST.get("on") == "yes"
    actions.turn(person(request), on=on)
    messages.success(
        request, _("Remembering is on.") if on else _("Remembering is off: nothing is told and nothing learned.")
    )
    return redirect(PAGE)


@login_required
@require_POST
def correct(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    text = request.POST.get("text", "")
    return _done(request, lambda user: actions.correct(user, memory_id, text), _("Corrected."))


@login_required
@require_POST
def pin(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    pinned = request.POST.get("pinned") == "yes"
    said = _("Pinned: it is told in every run.") if pinned else _("Not pinned any more.")
    return _done(request, lambda user: actions.pin(user, memory_id, pinned=pinned), said)


@login_required
@require_POST
def accept(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    return _done(request, lambda user: actions.accept(user, memory_id), _("Accepted. It is told from now on."))


@login_required
@require_POST
def forget(request: HttpRequest, memory_id: uuid.UUID) -> HttpResponse:
    return _done(request, lambda user: actions.forget(user, memory_id), _("Forgotten."))


@login_required
@require_POST
def forget_everything(request: HttpRequest) -> HttpResponse:
    if request.POST.get("sure") != "yes":
        messages.warning(request, _("Nothing was forgotten. Tick the box first to say that you mean it."))
        return redirect(PAGE)
    return _done(request, actions.forget_everything, _("Everything is forgotten."))


def _done(request: HttpRequest, verb: Callable[[User], Any], said: str) -> HttpResponse:
    with RefusalsTold(request):
        verb(person(request))
        messages.success(request, said)
    return redirect(PAGE)


urlpatterns = [
    path("memory/", memories, name="memories"),
    path("memory/export/", export, name="export-memories"),
    path("memory/switch/", switch, name="switch-memory"),
    path("memory/forget/", forget_everything, name="forget-everything"),
    path("memory/<uuid:memory_id>/correct/", correct, name="correct-memory"),
    path("memory/<uuid:memory_id>/pin/", pin, name="pin-memory"),
    path("memory/<uuid:memory_id>/accept/", accept, name="accept-memory"),
    path("memory/<uuid:memory_id>/forget/", forget, name="forget-memory"),
]
