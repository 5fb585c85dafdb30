"""The pages of what waits for people. All can be read without JavaScript; what is decided there goes by the API."""

import uuid
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Page, Paginator
from django.db.models import Case, F, IntegerField, Q, QuerySet, When
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_POST, require_safe

from hitl import rules, talks
from hitl.api.views import RequestFilter
from hitl.kinds import RequestStatus, Risk
from hitl.models import Request, Rule
from hitl.rows import KINDS, RISKS, approvers_of, first_call, owner_of, past_of, row_of, title_of
from hitl.shapes import request_shape
from hitl.standing_shapes import rule_state
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import NotThere

ROWS_A_PAGE: Final = 25
RULES_A_PAGE: Final = 50
MOST_NAMES: Final = 1_000
NAMES_FROM: Final = 1_000
"""Requests that are over of which the filters know the agents and tools: the newest. Of what waits, all."""
TABS: Final = ("decide", "others", "done")
FILTERS: Final = ("kind", "risk", "agent", "tool", "q")


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits for the reader, oldest first; what their runs wait for from others; what is over, newest first."""
    user = person(request)
    tab = request.GET.get("tab", TABS[0])
    tab = tab if tab in TABS else TABS[0]
    mine = Request.objects.read_by(user)
    parts = _parts(mine, user)
    chosen = _filters(request)
    found: QuerySet[Request] = RequestFilter(chosen, queryset=parts[tab], request=request).qs
    agents, tools = _names_in(parts[tab] if tab != "done" else _newest(parts[tab]))
    page = Paginator(found.select_related("user"), ROWS_A_PAGE).get_page(request.GET.get("page"))
    now = timezone.now()
    context = {
        "tab": tab,
        "page": page,
        "rows": [row_of(row, reader=user, now=now) for row in page],
        "open_talks": talks.that_open(list(page), user),
        "waiting": parts["decide"].count(),
        "kinds": {kind: _(words) for kind, words in KINDS.items()},
        "risks": {risk: _(words) for risk, words in RISKS.items()},
        "agents": _offered(agents, chosen.get("agent")),
        "tools": _offered(tools, chosen.get("tool")),
        "chosen": chosen,
        "query": _query(request),
        "page_data": {"user": {"id": str(user.pk)}, "tab": tab},
    }
    return render(request, "hitl/inbox.html", context)


def _parts(mine: QuerySet[Request], user: User) -> dict[str, QuerySet[Request]]:
    """The requests of each tab. What was put off stands behind what was not."""
    decidable = Request.objects.pending().decidable_by(user).values("pk")
    pending = mine.filter(status=RequestStatus.PENDING)
    in_time = Q(expires_at=None) | Q(expires_at__gt=Now())
    put_off = When(snoozed_until__gt=Now(), then=1)
    behind = Case(put_off, default=0, output_field=IntegerField())
    return {
        "decide": pending.filter(in_time, pk__in=decidable).order_by(behind, "created_at", "request_id"),
        "others": pending.filter(user=user).exclude(pk__in=decidable).order_by("created_at", "request_id"),
        "done": mine.exclude(status=RequestStatus.PENDING).order_by("-created_at", "-request_id"),
    }


def _newest(done: QuerySet[Request]) -> QuerySet[Request]:
    return done.filter(pk__in=done.values("pk")[:NAMES_FROM])


def _names_in(found: QuerySet[Request]) -> tuple[set[str], set[str]]:
    """Of their agents, and of their tools. One query."""
    named = list(found.order_by().values_list("agent_name", "tool_names").distinct())
    return {agent for agent, _tools in named}, {tool for _agent, tools in named for tool in tools}


def _offered(names: set[str], chosen: str | None) -> list[str]:
    """With what is chosen, wherever the list ends."""
    return sorted({*sorted(names)[:MOST_NAMES], *([chosen] if chosen else [])})


def _filters(request: HttpRequest) -> dict[str, str]:
    """What is filtered by; a word that is none of those offered filters nothing."""
    given = {name: request.GET.get(name, "").strip() for name in FILTERS}
    known = {"kind": KINDS, "risk": {risk.value for risk in Risk}}
    return {name: value for name, value in given.items() if value and value in known.get(name, (value,))}


def _query(request: HttpRequest) -> str:
    """The address's own query without the page, for links to other pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def one_request(request: HttpRequest, request_id: uuid.UUID) -> HttpResponse:
    """One request whole, with what became of it. Somebody else's is as one that does not exist."""
    user = person(request)
    found = Request.objects.read_by(user).select_related("decided_by", "user").filter(pk=request_id).first()
    if found is None:
        raise Http404
    now = timezone.now()
    call = first_call(found.question)
    context = {
        "row": row_of(found, reader=user, now=now),
        "title": title_of(found),
        "waits_for": approvers_of(found),
        "arguments": list((call.get("arguments") or {}).items()),
        "history": [past_of(one, reader=user) for one in found.decisions.order_by("at", "id")],
        "run_url": run_url(found, user),
        "page_data": {"user": {"id": str(user.pk)}, "request": shown(found, user)},
    }
    return render(request, "hitl/request.html", context)


def shown(found: Request, user: User) -> dict[str, Any]:
    """The request for the page's card. Rules are about one's own runs only."""
    shape = request_shape(found)
    own = found.user_id == user.pk
    return {
        **shape,
        "rules_allowed": shape["rules_allowed"] and own,
        "owner_name": owner_of(found, reader=user),
        "is_own": own,
    }


def run_url(found: Request, user: User) -> str:
    """Where the run asks, for whoever may see the conversation; empty for others, and where it was deleted."""
    is_there = found.pk in talks.that_open([found], user)
    return f"/c/{found.conversation_id}/#request-{found.request_id}" if is_there else ""


@never_cache
@login_required
@require_safe
def standing_rules(request: HttpRequest) -> HttpResponse:
    """Those that stand, then those that are over, the newest first of both."""
    user = person(request)
    standing = Rule.objects.of(user).standing()
    last = Case(When(pk__in=standing.values("pk"), then=0), default=1, output_field=IntegerField())
    newest = (last, F("revoked_at").desc(nulls_first=True), "-created_at", "-id")
    found = Rule.objects.of(user).select_related("revoked_by").order_by(*newest)
    page: Page[Rule] = Paginator(found, RULES_A_PAGE).get_page(request.GET.get("page"))
    now = timezone.now()
    used = _last_uses(page)
    listed = [{"rule": rule, "state": rule_state(rule, now=now), "last_used": used.get(rule.pk)} for rule in page]
    context = {
        "page": page,
        "standing": [one for one in listed if one["state"] == "standing"],
        "is_asked_always": not standing.exists(),
        "past": [one for one in listed if one["state"] != "standing"],
    }
    return render(request, "hitl/rules.html", context)


def _last_uses(page: Page[Rule]) -> dict[Any, Any]:
    ids = [rule.pk for rule in page]
    rows = Rule.objects.filter(pk__in=ids).order_by("pk", "-used__at").distinct("pk")
    return dict(rows.values_list("pk", "used__at"))


@login_required
@require_POST
def revoke_rule(request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
    try:
        rules.revoke(person(request), rule_id)
    except NotThere as error:
        raise Http404 from error
    messages.success(request, _("The rule is revoked. You are asked again from the next call on."))
    return redirect("hitl:rules")
