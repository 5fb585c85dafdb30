"""How the guardrails do, on the admin's home: what they found in a day, and how often people called them wrong."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Count, F, Q, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.guardrails.models import Feedback, Verdict
from agents.guardrails.reporting import Act
from hitl.admin.access import sees_all
from hyperagent.lib.admin_home import Line, Panel, panel
from hyperagent.lib.languages import grouped
from hyperagent.lib.read_only_admin import list_address

SHOWN = 8
JUDGED_SHOWN = 4
_JUDGED = "judged"
TOO_OFTEN_WRONG = 0.1
"""A scanner that is called wrong more often than this needs somebody to look at its rules."""


@panel(position=25)
def guardrails(request: HttpRequest) -> Panel | None:
    if not sees_all(request):
        return None
    since = timezone.now() - timedelta(days=1)
    found, judged = _counted(since)
    rows = sorted(found, key=lambda row: (-row[2], row[0], row[1]))
    count = sum(number for _scanner, _action, number in rows)
    blocked = sum(number for _scanner, action, number in rows if action == Act.BLOCK)
    lookups = {"created_at__gte": since.isoformat()}
    lines = [
        Line(
            f"{scanner} · {action_words(action)}",
            grouped(number),
            list_address(Verdict, by=scanner, action__exact=action, **lookups),
            "warn" if action == Act.BLOCK else "",
        )
        for scanner, action, number in rows[:SHOWN]
    ]
    return Panel(
        "guardrails",
        _("Guardrails"),
        [*lines, *_rates(judged)],
        Line(
            _("found in 24 hours"),
            grouped(count),
            list_address(Verdict, **lookups),
            "warn" if blocked else "good",
            ngettext("{count} refused", "{count} refused", blocked).format(count=grouped(blocked)) if blocked else "",
        ),
    )


def action_words(action: str) -> str:
    words = {
        Act.BLOCK: _("refused"),
        Act.WARN: _("warned"),
        Act.LOG: _("noted"),
        Act.REDACT: _("taken out"),
        Act.QUOTE: _("made harmless"),
    }
    return words.get(Act(action), action) if action in set(Act) else action


def _counted(since: datetime) -> tuple[list[tuple[str, str, int]], list[tuple[str, int, int]]]:
    """Scanner, action, how many since then; and scanner, how many were judged, how many of them wrong. One query: the
    first by the index on time, the second by the partial one on what was judged."""
    counts = {"rows": Count("pk"), "wrong": Count("pk", filter=Q(feedback=Feedback.WRONG))}
    columns = ("scanner", "what", "rows", "wrong")
    new = Verdict.objects.filter(created_at__gte=since).order_by().values("scanner", what=F("action"))
    judged = Verdict.objects.exclude(feedback="").order_by().values("scanner", what=Value(_JUDGED))
    both = new.annotate(**counts).values_list(*columns).union(judged.annotate(**counts).values_list(*columns), all=True)
    every = list(both)
    return (
        [(scanner, what, rows) for scanner, what, rows, _wrong in every if what != _JUDGED],
        [(scanner, rows, wrong) for scanner, what, rows, wrong in every if what == _JUDGED],
    )


def _rates(judged: Iterable[tuple[str, int, int]]) -> list[Line]:
    """The worst first."""
    worst = sorted(judged, key=lambda row: (-row[2] / row[1], row[0]))[:JUDGED_SHOWN]
    return [
        Line(
            _("{scanner} was wrong").format(scanner=scanner),
            f"{wrong / number:.0%}",
            list_address(Verdict, by=scanner, feedback__exact=Feedback.WRONG.value),
            "warn" if wrong / number > TOO_OFTEN_WRONG else "good",
            _("{wrong} of {judged} that people judged").format(wrong=grouped(wrong), judged=grouped(number)),
        )
        for scanner, number, wrong in worst
    ]
