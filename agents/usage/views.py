"""The page of usage and its figures as a file. Everything is asked for by the address, so that it works without
JavaScript and can be linked. Whose usage may be seen: `agents.usage.asking`.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache

from agents.models import Execution
from agents.usage import budget_showing, ends_of_budgets, names, purses, reading, showing
from agents.usage.asking import whose_usage
from agents.usage.reading import DearRun
from agents.usage.spans import DAYS, Span, first_zone, last_days, months, span_fault, zone_of
from agents.usage.spent import GroupBy, Spent, cost_brief, cost_text
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib import looks
from hyperagent.lib.looks import VIEW_CONTENT
from hyperagent.lib.refusals import NotAllowed, Refused

RANGES: Final = (7, 30, 90)
ROWS: Final = 12
DEAREST: Final = 10
Titles = Callable[[User, Iterable[UUID]], dict[UUID, str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for. `days`: one of RANGES, None for a range of one's own; `fault`: why not that."""

    reader: User
    span: Span
    today: date
    days: int | None
    everybody: bool
    person: User | None
    fault: str = ""

    @property
    def user_id(self) -> UUID | None:
        if self.everybody:
            return None
        return self.person.pk if self.person else self.reader.pk

    @property
    def is_of_others(self) -> bool:
        return self.user_id != self.reader.pk

    def ranged(self, days: int) -> str:
        """The page with another range up to today."""
        return replace(self, days=days).address()

    def address(self, page: str = "usage:page", **changed: str | None) -> str:
        """With what is chosen now and what is `changed`; None takes it out."""
        span = {"days": str(self.days)} if self.days else {"from": f"{self.span.first}", "to": f"{self.span.last}"}
        whose = {"all": "true"} if self.everybody else {"user": str(self.person.pk)} if self.person else {}
        zone = {} if self.span.zone.key == _own_zone(self.reader).key else {"time_zone": self.span.zone.key}
        chosen: dict[str, str | None] = {**span, **whose, **zone, **changed}
        return f"{reverse(page)}?{urlencode({name: value for name, value in chosen.items() if value is not None})}"


@method_decorator(never_cache, name="dispatch")
class UsagePage(LoginRequiredMixin, View):
    """`titles_of`: what a person's conversations are called, given where the addresses are put together."""

    http_method_names = ["get", "head", "options"]
    titles_of: Titles | None = None

    def get(self, request: HttpRequest) -> HttpResponse:
        asked = _asked(request)
        same_days, rest, now = reading.stretches((spans := months(asked.today, asked.span.zone)).bounds, asked.user_id)
        total, days = reading.total(asked.span, asked.user_id), reading.by_day(asked.span, asked.user_id)
        by_cost = bool(total.cost_usd)
        before = showing.added(same_days, rest)
        context = {
            "asked": asked,
            "cards": showing.cards(spans, same_days, before, now),
            "month": spans.now.first,
            "same_days": showing.span_text(spans.same_days_before),
            "is_empty": not (total.calls or now.calls or before.calls),
            "span_text": showing.span_text(asked.span),
            "total": {"spent": total, "cost": cost_text(total), "tokens": showing.short(total.tokens)},
            "unpriced": showing.unpriced_text(total),
            "by_cost": by_cost,
            "days": [_day(day, spent) for day, spent in zip(asked.span.days, days, strict=True)],
            "ranges": [_range(asked, days) for days in RANGES],
            "whose": _whose(asked),
            "groups": [_group(asked, group, title, by_cost=by_cost) for group, title in _groups(asked)],
            "dearest": self._dearest(asked),
            "budgets": [] if asked.everybody else ends_of_budgets.reached(asked.span, asked.user_id),
            "limits": (limits := _limits(asked)),
            "notices": budget_showing.notices(limits),
            "file": asked.address("usage:file", group_by=GroupBy.DAY.value),
        }
        return render(request, "agents/usage.html", context, status=400 if asked.fault else 200)

    def _dearest(self, asked: Asked) -> list[dict[str, Any]]:
        runs = reading.dearest(asked.span, asked.user_id, limit=DEAREST)
        own = [run.conversation_id for run in runs if run.conversation_id and run.user_id == asked.reader.pk]
        titles = self.titles_of(asked.reader, own) if self.titles_of and own else {}
        people = names.names_of(GroupBy.USER, {str(run.user_id or "") for run in runs}, reader=asked.reader)
        foreign = [run.id for run in runs if run.user_id != asked.reader.pk and run.question]
        if foreign and asked.reader.has_perm(VIEW_CONTENT):
            looks.note(asked.reader, [Execution(id=id_) for id_ in foreign], looks.READ_PREVIEW)
        return [_dear(asked, run, titles, people) for run in runs]


@method_decorator(never_cache, name="dispatch")
class UsageFile(LoginRequiredMixin, View):
    """The same figures as CSV, by what `group_by` says."""

    http_method_names = ["get", "head", "options"]

    def get(self, request: HttpRequest) -> HttpResponse:
        asked = _asked(request)
        wanted = request.GET.get("group_by", GroupBy.DAY.value)
        if asked.fault or wanted not in set(GroupBy):
            raise Http404
        group = GroupBy(wanted)
        if group is GroupBy.USER and not asked.everybody:
            raise PermissionDenied
        record(
            AuditKind.EXPORT_TAKEN,
            actor=actor_of(asked.reader),
            target=Target("usage", ""),
            details={"group_by": group.value, "everybody": asked.everybody, **_others_in(asked)},
        )
        answer = HttpResponse(content_type="text/csv; charset=utf-8")
        name = f"usage-by-{group}-{asked.span.first}-{asked.span.last}.csv"
        answer["Content-Disposition"] = f'attachment; filename="{name}"'
        csv.writer(answer).writerows(_lines(group, asked))
        return answer


def _others_in(asked: Asked) -> dict[str, str]:
    """For the audit log, where it is another person's."""
    return {"user": str(asked.person.pk)} if asked.person is not None else {}


def _lines(group: GroupBy, asked: Asked) -> list[list[str]]:
    if group is GroupBy.DAY:
        days = zip(asked.span.days, reading.by_day(asked.span, asked.user_id), strict=True)
        return showing.csv_lines(["day"], [([day.isoformat()], spent) for day, spent in days])
    shares = reading.shares(group, asked.span, asked.user_id, limit=None)
    called = names.names_of(group, [share.key for share in shares], reader=asked.reader)
    if group is GroupBy.MODEL:
        return showing.csv_lines(["model", "provider"], [([one.key, one.detail], one.spent) for one in shares])
    return showing.csv_lines([group.value, "name"], [([one.key, called.get(one.key, "")], one.spent) for one in shares])


# --- what is asked for


def _asked(request: HttpRequest) -> Asked:
    """Raises PermissionDenied where somebody asks for others' and may not, Http404 for a person who is not there."""
    user = request.user
    assert isinstance(user, User)
    given = request.GET
    zone = zone_of(given.get("time_zone", "")) or _own_zone(user)
    today = timezone.now().astimezone(zone).date()
    everybody, person = given.get("all") == "true", _person(given.get("user", ""))
    try:
        whose_usage(user.pk, sees_all=user.is_staff, everybody=everybody, user=person)
    except NotAllowed as refused:
        raise PermissionDenied(refused.message) from None
    except Refused:
        everybody = False
    other = User.objects.filter(pk=person).first() if person and person != user.pk else None
    if person and person != user.pk and other is None:
        raise Http404
    asked = Asked(user, last_days(DAYS, today, zone), today, DAYS, everybody, other)
    if "from" in given or "to" in given:
        return _with_own_range(asked, given.get("from", ""), given.get("to", ""))
    days = given.get("days", str(DAYS))
    if days not in {str(number) for number in RANGES}:
        return replace(asked, fault=_("There is no such range. Choose one, or two days of your own."))
    return replace(asked, span=last_days(int(days), today, zone), days=int(days))


def _with_own_range(asked: Asked, first_text: str, last_text: str) -> Asked:
    try:
        first, last = date.fromisoformat(first_text), date.fromisoformat(last_text) if last_text else asked.today
    except ValueError:
        return replace(asked, fault=_("These are no two days. Choose the first and the last one."))
    if span_fault(first, last):
        return replace(asked, fault=_("From the first day to the last there are 1 to 366 days. Choose others."))
    return replace(asked, span=Span(first, last, asked.span.zone), days=None)


def _person(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise Http404 from None


def _own_zone(user: User) -> ZoneInfo:
    return first_zone(user.time_zone, settings.TIME_ZONE)


# --- what is shown


def _range(asked: Asked, days: int) -> dict[str, Any]:
    href = asked.ranged(days)
    return {"days": days, "href": href, "is_chosen": asked.days == days}


def _whose(asked: Asked) -> list[dict[str, Any]]:
    """Mine or everybody's: for administrators."""
    if not asked.reader.is_staff:
        return []
    own = {"label": _("Mine"), "href": asked.address(all=None, user=None), "is_chosen": not asked.is_of_others}
    every = {"label": _("Everybody"), "href": asked.address(all="true", user=None), "is_chosen": asked.everybody}
    return [own, every]


def _groups(asked: Asked) -> list[tuple[GroupBy, str]]:
    people = [(GroupBy.USER, _("By person"))] if asked.everybody else []
    return [(GroupBy.MODEL, _("By model")), (GroupBy.AGENT, _("By agent")), *people]


def _group(asked: Asked, group: GroupBy, title: str, *, by_cost: bool) -> dict[str, Any]:
    found = reading.shares(group, asked.span, asked.user_id)
    called = names.names_of(group, [share.key for share in found[:ROWS]], reader=asked.reader)
    rows = showing.rows(found[:ROWS], by_cost=by_cost)
    return {
        "id": group.value,
        "title": title,
        "rows": [_named(asked, group, row, called) for row in rows],
        "others": max(0, len(found) - ROWS),
        "file": asked.address("usage:file", group_by=group.value),
    }


def _named(asked: Asked, group: GroupBy, row: showing.Row, called: dict[str, str]) -> showing.Row:
    if group is GroupBy.AGENT:
        return replace(row, name=showing.agent_label(row.key))
    if group is GroupBy.USER and row.key:
        name = called.get(row.key, _("Somebody who is gone"))
        return replace(row, name=name, href=asked.address(all=None, user=row.key) if row.key in called else "")
    return replace(row, name=called.get(row.key) or _("Unknown"))


def _dear(asked: Asked, run: DearRun, titles: dict[UUID, str], people: dict[str, str]) -> dict[str, Any]:
    name, href = _called(asked, run, titles)
    person = people.get(str(run.user_id or ""), _("Somebody who is gone")) if asked.everybody else ""
    return {
        "name": name,
        "href": href,
        "person": person,
        "began_at": run.began_at and run.began_at.astimezone(asked.span.zone),
        "cost": cost_brief(run.spent),
        "spent": run.spent,
        "tokens": showing.short(run.spent.tokens),
    }


def _called(asked: Asked, run: DearRun, titles: dict[UUID, str]) -> tuple[str, str]:
    """What a run is called and where it can be looked at. What was deleted, or is not theirs, says nothing."""
    if run.pipeline and run.pipeline != "turn":
        return showing.agent_label(run.pipeline), ""
    if run.user_id == asked.reader.pk:
        if run.conversation_id is None:
            return run.question or (_("A run of the API") if run.began_at else _("A deleted run")), ""
        if run.conversation_id in titles:
            name = run.question or titles[run.conversation_id]
            return name, reverse("chat-conversation", args=[run.conversation_id])
        return _("In a deleted conversation"), ""
    reader = asked.reader
    name = run.question if reader.has_perm(VIEW_CONTENT) and run.question else _("Run %(id)s") % {"id": str(run.id)[:8]}
    may_look = run.began_at is not None and reader.has_perm("agents.view_execution")
    return name, reverse("admin:agents_execution_change", args=[run.id]) if may_look else ""


def _limits(asked: Asked) -> list[budget_showing.Row]:
    """How the budgets stand that hold for whose usage it is; of everybody that of the installation."""
    if not purses.holds_for_anybody():
        return []
    person = asked.person.display_name or asked.person.email if asked.person else ""
    return budget_showing.rows(purses.standing_of(asked.user_id), person=person)


def _day(day: date, spent: Spent) -> dict[str, Any]:
    cost = spent.known_cost_usd
    return {
        "day": day,
        "spent": spent,
        "cost": cost_brief(spent),
        "tokens": showing.grouped(spent.tokens),
        "read": showing.grouped(spent.prompt_tokens),
        "written": showing.grouped(spent.completion_tokens),
        "value": "" if cost is None else format(cost, "f"),
    }
