"""The pages below `/schedules/`: the list, the form, one schedule with its history. Each reads a form, calls one verb
of `actions` and shows what came of it. They work without JavaScript; with it the next times follow what one picks.
"""

import uuid
from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from conversations.schedules import actions, reading
from conversations.schedules.forms import MISSED, MODE_NAMES, OPERATORS, RULES, TALKS, ScheduleForm
from conversations.schedules.kinds import Outcome, State
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.times import next_times
from conversations.schedules.validation import times_of
from conversations.schedules.words import in_words
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.database import db_now
from hyperagent.lib.refusals import NotThere, Refused
from memory.models import Document

SCHEDULES_A_PAGE: Final = 50
RUNS_A_PAGE: Final = 25
LOOK: Final = "look"
"""The button that shows the next times and saves nothing."""


@never_cache
@login_required
@require_http_methods(["GET", "HEAD"])
def schedules(request: HttpRequest) -> HttpResponse:
    page = Paginator(reading.schedules_of(person(request)), SCHEDULES_A_PAGE).get_page(request.GET.get("page"))
    last = reading.last_runs(page.object_list)
    rows = [_row(schedule, last.get(schedule.pk)) for schedule in page]
    return render(request, "schedules/schedules.html", {"page": page, "rows": rows})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    return _form(request, None)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    return _form(request, _own(request, schedule_id))


@never_cache
@login_required
@require_POST
def times(request: HttpRequest) -> HttpResponse:
    """The next times of what is picked so far, as a piece of the form's page."""
    return render(request, "schedules/_times.html", _times(ScheduleForm(request.POST, user=person(request))))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def schedule(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    if request.method == "POST":
        return _done(request, schedule_id, request.POST.get("verb", ""))
    found = _own(request, schedule_id)
    page = Paginator(reading.runs_of(found), RUNS_A_PAGE).get_page(request.GET.get("page"))
    user = person(request)
    names = Document.objects.seen_by(user).filter(pk__in=found.document_ids).values_list("filename", flat=True)
    context = {
        **_row(found, None),
        "failed_by_itself": reading.failed_by_itself(found),
        "next_times": reading.coming(found, now=db_now()),
        "page": page,
        "runs": [_run(run) for run in page],
        "mode": MODE_NAMES.get(found.mode or "task", found.mode),
        "rule": dict(RULES)[found.on_approval],  # type: ignore[index]
        "talk": dict(TALKS)[found.talk],  # type: ignore[index]
        "missed": dict(MISSED)[found.when_missed],  # type: ignore[index]
        "documents": list(names),
        "approved": [{"tool": one["tool"], "conditions": _conditions(one)} for one in found.preapproved],
    }
    return render(request, "schedules/schedule.html", context)


def _form(request: HttpRequest, found: Schedule | None) -> HttpResponse:
    user = person(request)
    form = ScheduleForm(request.POST if request.method == "POST" else None, user=user, schedule=found)
    context: dict[str, Any] = {"schedule": found}
    status = 200
    if LOOK in request.POST:
        # Faults of what is not typed yet would be in the way.
        context |= _times(form)
        form = ScheduleForm(user=user, schedule=found, initial=_typed(form))
    elif request.method == "POST":
        if form.is_valid() and (saved := _saved(user, form, found)) is not None:
            messages.success(request, _("Saved.") if found else _("The schedule is made."))
            return redirect("schedule", saved.pk)
        # A form of its own: this cleans it anew, which would drop the faults of the other.
        context |= _times(ScheduleForm(request.POST, user=user, schedule=found))
        status = 400
    else:
        context |= _of_initial(form) if found is None else _as_it_is(found)
    return render(request, "schedules/form.html", {**context, "form": form}, status=status)


def _saved(user: User, form: ScheduleForm, found: Schedule | None) -> Schedule | None:
    """None where it cannot be; the form says why."""
    try:
        wish = form.wish()
        return actions.change(user, found.pk, wish) if found is not None else actions.create(user, wish)
    except Refused as refused:
        form.refuse(refused.fields or {"": [refused.message]})
        return None


def _typed(form: ScheduleForm) -> dict[str, Any]:
    """What stands in the form, to be shown again."""
    return {name: form[name].value() for name in form.fields}


def _as_it_is(found: Schedule) -> dict[str, Any]:
    return {"coming": reading.coming(found, now=db_now()), "zone": found.zone}


def _of_initial(form: ScheduleForm) -> dict[str, Any]:
    typed = {name: value for name, value in _typed(form).items() if value is not None}
    return _times(ScheduleForm({**typed, "on_approval": "wait"}, user=form.user))


def _times(form: ScheduleForm) -> dict[str, Any]:
    wish = form.times()
    if wish is None:
        return {"coming": [], "times_fault": _("Choose when, and the next times stand here.")}
    now = db_now()
    rhythm, ends_at, faults = times_of(wish, now=now)
    if rhythm is None or faults:
        return {"coming": [], "times_fault": next(iter(faults.values()))[0]}
    return {
        "coming": next_times(rhythm, now, until=ends_at),
        "zone": wish.zone,
        "in_words": in_words(rhythm, cron=wish.cron, zone=wish.zone),
    }


def _done(request: HttpRequest, schedule_id: uuid.UUID, verb: str) -> HttpResponse:
    verbs: dict[str, tuple[Callable[[User, uuid.UUID], object], str]] = {
        "run": (actions.run_now, _("It is asked now.")),
        "pause": (actions.pause, _("Paused. Times that come meanwhile are not made up for.")),
        "resume": (actions.resume, _("It goes on.")),
        "delete": (actions.delete, _("The schedule is deleted. Its conversations stay.")),
    }
    if verb not in verbs:
        raise Http404
    act, said = verbs[verb]
    try:
        act(person(request), schedule_id)
    except NotThere:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, refused.message)
        return redirect("schedule", schedule_id)
    messages.success(request, said)
    return redirect("schedules") if verb == "delete" or "list" in request.POST else redirect("schedule", schedule_id)


def _row(found: Schedule, last: ScheduledRun | None) -> dict[str, Any]:
    return {
        "schedule": found,
        "state": found.state.value,
        "words": in_words(found.rhythm, cron=found.cron, zone=found.zone),
        "is_active": found.state is State.ACTIVE,
        "last": _run(last) if last else None,
    }


def _run(run: ScheduledRun) -> dict[str, Any]:
    return {
        "run": run,
        "status": reading.status_of(run),
        "is_started": run.outcome == Outcome.STARTED,
        "error": reading.error_of(run),
        "conversation_id": reading.conversation_id_of(run),
    }


def _conditions(approved: dict[str, Any]) -> list[str]:
    said: dict[str, Any] = {operator.value: words for operator, words in OPERATORS}
    return [f"{one['path']} {said.get(one['op'], one['op'])} {one['value']}" for one in approved["conditions"]]


def _own(request: HttpRequest, schedule_id: uuid.UUID) -> Schedule:
    try:
        return actions.own(person(request), schedule_id)
    except NotThere:
        raise Http404 from None
