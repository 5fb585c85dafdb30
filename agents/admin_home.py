"""How the runs are, on the admin's home: what failed, what it cost, who works. For administrators."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.engine.states import EffectStatus, ExecutionStatus
from agents.models import Effect, Execution, Runner
from agents.sandbox.models import SandboxSession
from agents.usage.models import ModelCall
from agents.usage.reading import shares, total
from agents.usage.spans import Span, months
from agents.usage.spent import GroupBy, Spent, cost_text
from hyperagent.lib.admin_home import Line, Panel, panel
from hyperagent.lib.languages import grouped
from hyperagent.lib.read_only_admin import list_address, row_address

CODES_SHOWN = 8
MODELS_SHOWN = 6
RUNNERS_SHOWN = 12
SILENT_AFTER_S = 30
# A month of a busy installation is half a million calls: its sum is not taken anew for each look.
COSTS_KEPT_S = 60
_SPENT = "admin.home.spent"
LIVE = (ExecutionStatus.PENDING, ExecutionStatus.RUNNING, ExecutionStatus.AWAITING_USER)


@panel(position=20)
def what_failed(request: HttpRequest) -> Panel | None:
    """Runs by when they began, for that is what an index has in order."""
    if not _is_administrator(request):
        return None
    since = timezone.now() - timedelta(days=1)
    failed = Execution.objects.filter(created_at__gte=since, status=ExecutionStatus.FAILED)
    counted = failed.order_by().values("error_code").annotate(runs=Count("pk")).order_by("-runs", "error_code")
    codes = list(counted.values_list("error_code", "runs"))
    lookups = {"status__exact": ExecutionStatus.FAILED.value, "created_at__gte": since.isoformat()}
    count = sum(runs for _code, runs in codes)
    lines = [
        Line(code or _("without a code"), grouped(runs), _runs(error_code__exact=code, **lookups), "bad")
        for code, runs in codes[:CODES_SHOWN]
    ]
    return Panel(
        "failed",
        _("What failed"),
        [*lines, _in_doubt()],
        Line(_("runs in 24 hours"), grouped(count), _runs(**lookups), "bad" if count else "good"),
    )


def _in_doubt() -> Line:
    """Of runs that are not over, which a partial index has: over what is left in doubt later, people were asked."""
    live = Execution.objects.filter(status__in=LIVE).order_by().values("pk")
    doubts = Effect.objects.filter(status=EffectStatus.IN_DOUBT, execution__in=live).count()
    url = list_address(
        Effect, status__exact=EffectStatus.IN_DOUBT.value, execution__status__in=",".join(one.value for one in LIVE)
    )
    note = _("nobody knows yet whether they happened") if doubts else ""
    return Line(_("Effects in doubt"), grouped(doubts), url, "warn" if doubts else "good", note)


@panel(position=30)
def what_it_costs(request: HttpRequest) -> Panel | None:
    if not _is_administrator(request):
        return None
    now = timezone.now()
    month = months(now.date(), timezone.get_default_timezone()).now
    today = Span(month.last, month.last, month.zone)
    kept = cache.get(_SPENT)
    if kept is None:
        kept = _sums(today, month)
        cache.set(_SPENT, kept, COSTS_KEPT_S)
    spent_today, this_month = _spent(kept["today"]), _spent(kept["month"])
    models = [
        Line(
            f"{name or _('(no name)')} · {provider}",
            cost_text(spent),
            _calls(month.start, model__exact=name, provider__exact=provider),
            "warn" if spent.unpriced_calls else "",
        )
        for name, provider, spent in ((name, provider, _spent(sums)) for name, provider, sums in kept["models"])
    ]
    lines = [Line(_("This month"), cost_text(this_month), _calls(month.start)), *models]
    if unpriced := this_month.unpriced_calls:
        text = ngettext("call without a known price", "calls without a known price", unpriced)
        url = _calls(month.start, price="unknown")
        lines.append(Line(text, grouped(unpriced), url, "warn", _("the sums are at least")))
    return Panel("costs", _("What it costs"), lines, Line(_("today"), cost_text(spent_today), _calls(today.start)))


def _calls(since: datetime, **more: Any) -> str:
    return list_address(ModelCall, at__gte=since.isoformat(), **more)


def _sums(today: Span, month: Span) -> dict[str, Any]:
    """For the cache, which keeps JSON: without words, for the next reader may have another language."""
    models = shares(GroupBy.MODEL, month, None)
    parts = [share.spent for share in models]
    whole = Spent(
        calls=sum(part.calls for part in parts),
        unpriced_calls=sum(part.unpriced_calls for part in parts),
        cost_usd=sum((part.cost_usd for part in parts), Decimal(0)),
    )
    return {
        "today": _kept(total(today, None)),
        "month": _kept(whole),
        "models": [[share.key, share.detail, _kept(share.spent)] for share in models[:MODELS_SHOWN]],
    }


def _kept(spent: Spent) -> list[Any]:
    return [spent.calls, spent.unpriced_calls, str(spent.cost_usd)]


def _spent(kept: list[Any]) -> Spent:
    calls, unpriced_calls, cost_usd = kept
    return Spent(calls=calls, unpriced_calls=unpriced_calls, cost_usd=Decimal(cost_usd))


@panel(position=40)
def who_works(request: HttpRequest) -> Panel | None:
    if not _is_administrator(request):
        return None
    runners = list(Runner.objects.order_by("-seen_at")[:RUNNERS_SHOWN])
    live, leased, oldest_s, boxes, now = _live_runs()
    alive = [one for one in runners if _is_alive(one, now)]
    driving = sum(one.driving for one in alive)
    room = sum(one.concurrency for one in alive)
    return Panel(
        "workers",
        _("Workers"),
        [
            Line(
                _("Runs under way"),
                grouped(live.get('running', 0)),
                _runs(status__exact="running"),
                note=_("{leased} with a lease; room for {room}, {driving} taken").format(
                    leased=leased, room=room, driving=driving
                ),
            ),
            Line(_("Runs that wait for a worker"), grouped(live.get('pending', 0)), _runs(status__exact="pending"),
                 "warn" if oldest_s > SILENT_AFTER_S else "", _since(oldest_s)),
            Line(_("Runs that wait for people"), grouped(live.get('awaiting_user', 0)),
                 _runs(status__exact="awaiting_user")),
            Line(_("Sandboxes open"), grouped(boxes), list_address(SandboxSession, ended_at__isempty="1")),
            *_runner_lines(runners, now),
        ],
        Line(
            ngettext("worker is running", "workers are running", len(alive)),
            str(len(alive)),
            list_address(Runner),
            "good" if alive else "bad",
            "" if alive else _("Questions wait. Start `manage.py worker`."),
        ),
    )  # fmt: skip


def _live_runs() -> tuple[dict[str, int], int, float, int, datetime]:
    """Runs that are not over, by status; those with a lease; the age of the oldest that nobody drives; open boxes, and
    the database's time. All from partial indexes, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, count(*), count(*) FILTER (WHERE lease_until > now()),"
            " coalesce(extract(epoch FROM now() - min(created_at)), 0),"
            " (SELECT count(*) FROM agents_sandboxsession WHERE ended_at IS NULL), clock_timestamp()"
            " FROM agents_execution WHERE NOT (status IN ('completed', 'failed', 'cancelled')) GROUP BY ROLLUP (status)"
        )
        rows = cursor.fetchall()
    counts = {status: count for status, count, *_rest in rows if status}
    ages = {status: float(age) for status, _count, _leased, age, *_rest in rows}
    return counts, sum(row[2] for row in rows if row[0]), ages.get("pending", 0.0), rows[0][4], rows[0][5]


def _runner_lines(runners: Iterable[Runner], now: datetime) -> list[Line]:
    return [
        Line(
            one.name,
            _("{driving} of {room}").format(driving=one.driving, room=one.concurrency),
            row_address(one),
            "good" if _is_alive(one, now) else "bad",
            _("seen {ago}").format(ago=_ago(one.seen_at, now)),
        )
        for one in runners
    ]


def _is_alive(runner: Runner, now: datetime) -> bool:
    return (now - runner.seen_at).total_seconds() < SILENT_AFTER_S


def _ago(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    return _("just now") if seconds < 60 else _("{time} ago").format(time=timesince(at, now, depth=1))


def _since(seconds: float) -> str:
    if seconds < 1:
        return ""
    now = timezone.now()
    if seconds < 60:
        return _("the oldest for {seconds} s").format(seconds=round(seconds))
    return _("the oldest for {time}").format(time=timesince(now - timedelta(seconds=seconds), now, depth=1))


def _runs(**lookups: Any) -> str:
    return list_address(Execution, **lookups)


def _is_administrator(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_staff)
