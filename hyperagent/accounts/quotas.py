"""How much one person may have done for them, as arithmetic on plain values. Knows neither tables nor requests.

A meter fills with what is asked for and empties evenly: `amount` in `window_s` seconds. What would make it run over is
refused and not counted. So the whole amount may come at once, and after that as much as has drained.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from hyperagent.lib.languages import grouped

MINUTE_S: Final = 60
HOUR_S: Final = 3_600
DAY_S: Final = 86_400


class Quota(StrEnum):
    """Each is a setting of the same name, and may be another amount for a person or a group. 0: no limit."""

    RUNS_PER_MINUTE = "runs_per_minute"
    RUNS_PER_HOUR = "runs_per_hour"
    RUNS_AT_ONCE = "runs_at_once"
    UPLOADS_PER_HOUR = "uploads_per_hour"
    UPLOAD_BYTES_PER_DAY = "upload_bytes_per_day"
    SEARCHES_PER_MINUTE = "searches_per_minute"
    REQUESTS_PER_MINUTE = "requests_per_minute"
    SOCKETS_AT_ONCE = "sockets_at_once"


class Work(StrEnum):
    """What is metered: one row for each person and kind, with one or two meters."""

    RUN = "run"
    UPLOAD = "upload"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class Meter:
    quota: Quota
    window_s: int


METERS: Final[Mapping[Work, tuple[Meter, ...]]] = {
    Work.RUN: (Meter(Quota.RUNS_PER_MINUTE, MINUTE_S), Meter(Quota.RUNS_PER_HOUR, HOUR_S)),
    Work.UPLOAD: (Meter(Quota.UPLOADS_PER_HOUR, HOUR_S), Meter(Quota.UPLOAD_BYTES_PER_DAY, DAY_S)),
    Work.SEARCH: (Meter(Quota.SEARCHES_PER_MINUTE, MINUTE_S),),
}
# Nobody can say when a run will have ended.
WAIT_FOR_A_RUN_S: Final = 10

_WORDS: Final = {
    Quota.RUNS_PER_MINUTE: gettext_lazy("You have asked {amount} times within a minute, which is as often as you may."),
    Quota.RUNS_PER_HOUR: gettext_lazy("You have asked {amount} times within an hour, which is as often as you may."),
    Quota.RUNS_AT_ONCE: gettext_lazy(
        "{amount} of your questions are being worked on, which is as many as may be at once. Wait until one is "
        "answered, or stop one."
    ),
    Quota.UPLOADS_PER_HOUR: gettext_lazy("You have given {amount} files within an hour, which is as many as you may."),
    Quota.UPLOAD_BYTES_PER_DAY: gettext_lazy(
        "You have given {amount} bytes within a day, which is as much as you may."
    ),
    Quota.SEARCHES_PER_MINUTE: gettext_lazy(
        "You have searched {amount} times within a minute, which is as often as you may."
    ),
    Quota.REQUESTS_PER_MINUTE: gettext_lazy(
        "These were {amount} requests within a minute, which is as many as may be."
    ),
    Quota.SOCKETS_AT_ONCE: gettext_lazy(
        "{amount} windows of yours are connected, which is as many as may be at once. Close one."
    ),
}


def cost_s(units: int, amount: int, window_s: int) -> float:
    """Seconds that this much takes to drain; 0.0 where there is no limit."""
    return units * window_s / amount if amount > 0 else 0.0


def wait_s(clears_at: datetime | None, now: datetime, cost: float, window_s: int) -> float:
    """Seconds until this much fits again into a meter that is empty at `clears_at`; 0.0 if it fits now."""
    if cost <= 0:
        return 0.0
    left = max(0.0, (clears_at - now).total_seconds()) if clears_at else 0.0
    return max(0.0, left + cost - window_s)


def fits_ever(cost: float, window_s: int) -> bool:
    """Whether so much may be asked for at all."""
    return cost <= window_s


def refusal(quota: Quota, amount: int, retry_after_s: int | None = None) -> str:
    """For people: what is used up, and what to wait for."""
    said = str(_WORDS[quota]).format(amount=grouped(amount))
    return f"{said} {_again_in(retry_after_s)}" if retry_after_s else said


def too_much_at_once(amount: int) -> str:
    said = _("This is more than the {amount} bytes that you may give within a day. Give less, or ask an administrator.")
    return said.format(amount=grouped(amount))


def _again_in(seconds: int) -> str:
    if seconds < 90:
        return ngettext(
            "Wait {count} second, then try again.", "Wait {count} seconds, then try again.", seconds
        ).format(count=seconds)
    minutes = math.ceil(seconds / 60)
    if minutes < 90:
        return _("Wait {minutes} minutes, then try again.").format(minutes=minutes)
    return _("Wait {hours} hours, then try again.").format(hours=math.ceil(minutes / 60))
