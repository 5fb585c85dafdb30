"""The budgets of a person's runs that came to their end: what was allowed, and what the person said to it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from agents.usage.showing import grouped
from agents.usage.spans import Span
from hitl.models import Request, RequestKind, RequestStatus
from hyperagent.lib.languages import dollars
from hyperagent.lib.stored_sentences import in_our_words

MOST: Final = 5


@dataclass(frozen=True, slots=True)
class ReachedBudget:
    """`why`: of one that the run shares with others, what was said of it; it has no `limit` and no `used`."""

    request_id: UUID
    limit: str
    used: str
    why: str
    outcome: str
    is_open: bool
    at: datetime


def reached(span: Span, user_id: UUID | None) -> list[ReachedBudget]:
    """Those of this span, the newest first; at most MOST. One query."""
    asked = Request.objects.filter(
        user=user_id, kind=RequestKind.BUDGET, created_at__gte=span.start, created_at__lt=span.end
    )
    return [_reached(request, span) for request in asked.order_by("-created_at")[:MOST]]


def _reached(request: Request, span: Span) -> ReachedBudget:
    question: Any = request.question if isinstance(request.question, dict) else {}
    unit = str(question.get("unit", "tokens"))
    is_shared = "shared_end" in question
    return ReachedBudget(
        request.request_id,
        _amount(question.get("limit"), unit),
        _amount(question.get("used"), unit),
        in_our_words(str(question.get("why", ""))) if is_shared else "",
        _outcome(request, unit, is_shared=is_shared),
        request.status == RequestStatus.PENDING,
        request.created_at.astimezone(span.zone),
    )


def _amount(number: Any, unit: str) -> str:
    if not isinstance(number, int | float):
        return "–"
    if unit == "usd":
        return dollars(Decimal(str(number)))
    return _("%(count)s tokens") % {"count": grouped(int(number))}


def _outcome(request: Request, unit: str, *, is_shared: bool) -> str:
    answer: Any = request.answer if isinstance(request.answer, dict) else {}
    choice = answer.get("choice")
    if choice == "raise" and not is_shared:
        return _("raised to %(limit)s") % {"limit": _amount(_number(answer.get("text")), unit)}
    by_choice = {"raise": _("went on"), "finish": _("finished with what there was"), "stop": _("stopped")}
    by_status = {
        RequestStatus.PENDING: _("waits for an answer"),
        RequestStatus.EXPIRED: _("the run ended before anybody answered"),
        RequestStatus.CANCELLED: _("withdrawn"),
    }
    status = RequestStatus(request.status)
    if status not in by_status and choice in by_choice:
        return by_choice[choice]
    return by_status.get(status) or _("nobody answered in time")


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
