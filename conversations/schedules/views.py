"""The pages below `/schedules/`: the list, the form, one schedule with its history. Each reads a form, calls one verb
of `actions` and shows what came of it. They work without JavaScript; with it the next times follow what one picks.
"""

import uuid
from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
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
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold
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


@method_decorator(never_cache, name="dispatch")
class New(LoginRequiredMixin, RefusableForm):
    """The form of a schedule, with the next times of what is picked so far."""

    template_name = "schedules/form.html"
    form_class = ScheduleForm
    found: Schedule | None = None

    def get_form_kwargs(self) -> dict[str, Any]:
        # What it begins with, the form knows.
        typed = {name: given for name, given in super().get_form_kwargs().items() if name != "initial"}
        return typed | {"user": person(self.request), "schedule": self.found}

    def field_of(self, form: ScheduleForm, name: str) -> str:
        return form.field_of(name)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if LOOK not in request.POST:
            return super().post(request, *args, **kwargs)
        # Faults of what is not typed yet would be in the way.
        form = self.get_form()
        again = ScheduleForm(user=person(request), schedule=self.found, initial=_typed(form))
        return self.render_to_response(self.get_context_data(form=again, **_times(form)))

    def act(self, form: ScheduleForm) -> HttpResponse:
        made = actions.create(person(self.request), form.wish())
        messages.success(self.request, _("The schedule is made."))
        return redirect("schedule", made.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(schedule=self.found, **kwargs)
        return context if "coming" in context else context | self._coming(context["form"])

    def _coming(self, form: ScheduleForm) -> dict[str, Any]:
        if form.is_bound:
            # A form of its own: this cleans it anew, which would drop the faults of the other.
            return _times(self.get_form())
        return self._at_first(form)

    def _at_first(self, form: ScheduleForm) -> dict[str, Any]:
        typed = {name: value for name, value in _typed(form).items() if value is not None}
        return _times(ScheduleForm({**typed, "on_approval": "wait"}, user=form.user))


class Change(New):
    found: Schedule

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            self.found = _own(request, kwargs["schedule_id"])
        return super().dispatch(request, *args, **kwargs)

    def act(self, form: ScheduleForm) -> HttpResponse:
        actions.change(person(self.request), self.found.pk, form.wish())
        messages.success(self.request, _("Saved."))
        return redirect("schedule", self.found.pk)

    def _at_first(self, form: ScheduleForm) -> dict[str, Any]:
        return {"coming": reading.coming(self.found, now=db_now()), "zone": self.found.zone}


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


def _typed(form: ScheduleForm) -> dict[str, Any]:
    """What stands in the form, to be shown again."""
    return {name: form[name].value() for name in form.fields}


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
    with RefusalsTold(request):
        act(person(request), schedule_id)
        messages.success(request, said)
        if verb == "delete" or "list" in request.POST:
            return redirect("schedules")
    return redirect("schedule", schedule_id)


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
