"""Cron expressions of five fields, as crontab(5) has them, and `L` for the last day of a month. Which days and times of
the day they name; what moments these are in a time zone is for `times` to say. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from conversations.schedules.kinds import CRON_CHARS

DAY_MINUTES: Final = 1_440
# A leap day comes within eight years, and on each day of the week within forty.
FOUR_YEARS_DAYS: Final = 1_461
_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAY_NAMES: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS: Final = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAYS: Final = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
_PART: Final = re.compile(r"(\*|[0-9a-z]{1,3})(?:-([0-9a-z]{1,3}))?(?:/([0-9]{1,2}))?")
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class BadCron(ValueError):
    """Why it is no expression; for people."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str | Promise
    low: int
    high: int
    words: Mapping[str, int]


_FIELDS: Final = (
    _Field(gettext_lazy("minute"), 0, 59, {}),
    _Field(gettext_lazy("hour"), 0, 23, {}),
    _Field(gettext_lazy("day of the month"), 1, 31, {}),
    _Field(gettext_lazy("month"), 1, 12, _MONTHS),
    _Field(gettext_lazy("day of the week"), 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class CronExpression:
    """`minutes` of the day, in order. `weekdays`: 0 is Sunday. `is_hourly`: its hours begin with a star, so it goes by
    hours that pass and not by what a clock shows."""

    minutes: tuple[int, ...]
    days: frozenset[int]
    last_day: bool
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    is_hourly: bool

    def falls_on(self, day: date) -> bool:
        """Where both kinds of days are named, either will do: so cron has it."""
        if day.month not in self.months:
            return False
        in_month = day.day in self.days or (self.last_day and (day + timedelta(days=1)).month != day.month)
        in_week = day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week

    @property
    def closest_minutes(self) -> int:
        """The least time between two of its times, on days without a change of the clock."""
        within = [later - earlier for earlier, later in pairwise(self.minutes)]
        over_night = self.minutes[0] + DAY_MINUTES - self.minutes[-1]
        least = min(within, default=DAY_MINUTES)
        return min(least, over_night) if over_night < least and self._has_days_in_a_row() else least

    def _has_days_in_a_row(self) -> bool:
        begin = date(2096, 1, 1)
        return any(
            self.falls_on(begin + timedelta(days=number)) and self.falls_on(begin + timedelta(days=number + 1))
            for number in range(FOUR_YEARS_DAYS)
        )


def parsed(text: str) -> CronExpression:
    """Raises BadCron."""
    if len(text) > CRON_CHARS:
        raise BadCron(_("A cron expression has at most {limit} characters.").format(limit=CRON_CHARS))
    words = _NICKNAMES.get(text.strip().lower(), text.lower()).split()
    if len(words) != len(_FIELDS):
        raise BadCron(
            _(
                "A cron expression has five fields (minute, hour, day of the month, month, day of the week), "
                "such as 30 8 * * 1-5; this has {count}."
            ).format(count=len(words))
        )
    last_day, day_word = _last_day(words[2])
    values = [_values(word, field) for word, field in zip([*words[:2], day_word, *words[3:]], _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = values
    return CronExpression(
        minutes=tuple(sorted(hour * 60 + minute for hour in hours for minute in minutes)),
        days=days,
        last_day=last_day,
        months=months,
        weekdays=frozenset(number % 7 for number in weekdays),
        any_day=words[2].startswith("*"),
        any_weekday=words[4].startswith("*"),
        is_hourly=words[1].startswith("*"),
    )


def _last_day(word: str) -> tuple[bool, str]:
    """Whether `l` is among the days, and the days without it."""
    parts = word.split(",")
    return "l" in parts, ",".join(part for part in parts if part != "l")


def _values(word: str, field: _Field) -> frozenset[int]:
    if word == "" and field is _FIELDS[2]:
        return frozenset()
    return frozenset().union(*(_part(part, field) for part in word.split(",")))


def _part(part: str, field: _Field) -> frozenset[int]:
    match = _PART.fullmatch(part)
    if match is None:
        raise _unreadable(part, field)
    first, last, step = match.groups()
    if first == "*":
        if last is not None:
            raise _unreadable(part, field)
        low, high = field.low, field.high
    else:
        low = _number(first, part, field)
        high = _number(last, part, field) if last is not None else (field.high if step else low)
    if low > high:
        raise BadCron(
            _("“{part}” ({field}) begins after its end. Write it as two ranges with a comma.").format(
                part=part, field=field.name
            )
        )
    stride = int(step) if step is not None else 1
    if stride == 0:
        raise BadCron(_("“{part}” ({field}): a step is 1 or more.").format(part=part, field=field.name))
    return frozenset(range(low, high + 1, stride))


def _number(word: str, part: str, field: _Field) -> int:
    if word in field.words:
        return field.words[word]
    if not word.isdigit() or not field.low <= int(word) <= field.high:
        raise _unreadable(part, field)
    return int(word)


def _unreadable(part: str, field: _Field) -> BadCron:
    return BadCron(
        _("“{part}” is no {field}: use {low} to {high}, lists (1,4), ranges (1-4), steps (*/2) or *.").format(
            part=part[:20], field=field.name, low=field.low, high=field.high
        )
    )
