"""What waits for people, on the admin's home: of each reader what they may see, and first what they may decide."""

from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from hitl.admin.access import is_administrator, roles_of, sees_all
from hitl.kinds import RequestKind, RequestStatus
from hitl.models import Request, Switch
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Role
from hyperagent.lib.admin_home import Line, Panel, panel
from hyperagent.lib.admin_values import waited
from hyperagent.lib.labels import said
from hyperagent.lib.languages import grouped
from hyperagent.lib.read_only_admin import list_address, row_address

OLDEST_SHOWN = 8
# Somebody has waited for so long that it stands out.
LATE_AFTER_S = 3600


@panel(position=10)
def what_waits(request: HttpRequest) -> Panel | None:
    user = request.user
    assert isinstance(user, User)
    if not (sees_all(request) or Role.REVIEWER in roles_of(request)):
        return None
    seen = visible_requests(request, user).pending()
    now = timezone.now()
    kinds = list(
        seen.order_by()
        .values("kind")
        .annotate(waiting=Count("pk"), oldest=Min("created_at"))
        .order_by("oldest")
        .values_list("kind", "waiting", "oldest")
    )
    total = sum(waiting for _kind, waiting, _oldest in kinds)
    theirs = Request.objects.decidable_by(user).pending() if total else Request.objects.none()
    mine = list(theirs.order_by("created_at")[:OLDEST_SHOWN])
    others = [] if mine else list(seen.order_by("created_at")[:OLDEST_SHOWN])
    by_kind = [_kind_line(kind, waiting, oldest, now) for kind, waiting, oldest in kinds]
    groups: list[tuple[str, list[Line]]] = [(_("By kind"), by_kind)] if by_kind else []
    if mine:
        shown = [_request_line(one, now) for one in mine]
        more = list_address(Request, status__exact=RequestStatus.PENDING.value, turn="mine")
        groups.insert(0, (_("Mine to decide, oldest first"), [*shown, Line(_("All of mine"), url=more)]))
    elif others:
        groups.append((_("Oldest first"), [_request_line(one, now) for one in others]))
    return Panel(
        "waits",
        _("What waits"),
        headline=Line(
            _("open requests"),
            grouped(total),
            list_address(Request, status__exact=RequestStatus.PENDING.value),
            tone="wait" if total else "good",
        ),
        empty=_("Nothing waits for anybody."),
        groups=groups,
    )


@panel(position=15)
def switched_off(request: HttpRequest) -> Panel | None:
    """Shown only while a switch is thrown: then little else matters as much."""
    if not is_administrator(request):
        return None
    thrown = list(Switch.objects.thrown().select_related("thrown_by")[:OLDEST_SHOWN])
    if not thrown:
        return None
    url = list_address(Switch, lifted_at__isempty="1")
    lines = [
        Line(str(one), "", row_address(one), "bad", _("{reason} ({who})").format(reason=one.reason, who=one.thrown_by))
        for one in thrown
    ]
    return Panel("switches", _("Switched off"), lines, Line(_("switches thrown"), str(len(thrown)), url, tone="bad"))


def visible_requests(request: HttpRequest, user: User) -> Any:
    """Reviewers: what their policies give them, and their own."""
    rows: QuerySet[Any] = Request.objects.all()
    return rows if sees_all(request) else rows.filter(pk__in=Request.objects.visible_to(user).values("pk"))


def _kind_line(kind: str, waiting: int, oldest: datetime, now: datetime) -> Line:
    url = list_address(Request, status__exact=RequestStatus.PENDING.value, kind__exact=kind)
    text = _("{kind} · oldest {age}").format(kind=_kind_name(kind), age=waited(oldest, now))
    return Line(text, grouped(waiting), url, _tone(oldest, now))


def _request_line(one: Request, now: datetime) -> Line:
    what = ", ".join(one.tool_names) or _kind_name(one.kind)
    text = _("{agent}: {what}").format(agent=one.agent_name, what=what)
    risk = _(" · risk {risk}").format(risk=said(one.risk)) if one.risk else ""
    return Line(text + risk, waited(one.created_at, now), row_address(one), _tone(one.created_at, now))


def _tone(since: datetime, now: datetime) -> str:
    return "warn" if (now - since).total_seconds() > LATE_AFTER_S else "wait"


def _kind_name(kind: str) -> str:
    names = {
        RequestKind.APPROVAL: _("Approvals"),
        RequestKind.DECISION: _("Choices"),
        RequestKind.INPUT: _("Questions"),
        RequestKind.PLAN: _("Plans"),
        RequestKind.BUDGET: _("Budgets"),
    }
    return names.get(RequestKind(kind), kind)
