"""The moments of a schedule: one, one after each pause, or by cron in a time zone. Pure; the clock is its caller's.

Where the clocks are changed, a cron expression with named hours comes once on each day that it names: a time that is
left out comes as much later as the clocks were put forward (02:30 is 03:30 then, as RFC 5545 has it), one that comes
twice is the first of the two. One that begins its hours with a star goes by hours that pass: what is left out is left
out, and what comes twice comes twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from conversations.schedules.cron import CronExpression

# A 29 February that has to be a certain day of the week: every 28 years, and 40 around 2100.
SEARCHED: Final = timedelta(days=41 * 366)
NEXT_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Once:
    at: datetime


@dataclass(frozen=True, slots=True)
class Every:
    """First a pause after `begins_at`."""

    begins_at: datetime
    pause_s: int


@dataclass(frozen=True, slots=True)
class Cron:
    expression: CronExpression
    zone: ZoneInfo


Rhythm = Once | Every | Cron


def next_after(rhythm: Rhythm, moment: datetime) -> datetime | None:
    """The first moment later than this one, in UTC; None if there is none any more."""
    return next(moments(rhythm, moment), None)


def next_times(rhythm: Rhythm, after: datetime, *, until: datetime | None, count: int = NEXT_SHOWN) -> list[datetime]:
    return list(islice(takewhile(lambda found: until is None or found <= until, moments(rhythm, after)), count))


def count_between(rhythm: Rhythm, after: datetime, until: datetime, *, most: int) -> int:
    """How many moments are later than `after` and not later than `until`; at most `most`."""
    return len(next_times(rhythm, after, until=until, count=most))


def moments(rhythm: Rhythm, after: datetime) -> Iterator[datetime]:
    """All of them that are later, in order, in UTC."""
    # Two times of one zone are compared by what the clock shows.
    begin = after.astimezone(UTC)
    match rhythm:
        case Once(at):
            return iter([at.astimezone(UTC)] if at.astimezone(UTC) > begin else [])
        case Every(begins_at, pause_s):
            return _every(begins_at.astimezone(UTC), pause_s, begin)
        case Cron(expression, zone):
            return _by_cron(expression, zone, begin)
        case _:
            assert_never(rhythm)


def _every(begins_at: datetime, pause_s: int, after: datetime) -> Iterator[datetime]:
    pause = timedelta(seconds=pause_s)
    number = max(1, (after - begins_at) // pause + 1)
    while True:
        yield begins_at + number * pause
        number += 1


def _by_cron(expression: CronExpression, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    last = after
    # Of the day before, a time that comes twice around midnight may still be to come.
    day = after.astimezone(zone).date() - timedelta(days=1)
    searched_until = day + SEARCHED
    while day < searched_until:
        if day.month not in expression.months:
            day = _next_month(day)
            continue
        if expression.falls_on(day):
            for found in _moments_on(day, expression, zone):
                if found > last:
                    yield found
                    last, searched_until = found, day + SEARCHED
        day += timedelta(days=1)


def _next_month(day: date) -> date:
    """Its first day."""
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1)


def _moments_on(day: date, expression: CronExpression, zone: ZoneInfo) -> list[datetime]:
    found = set()
    for minute in expression.minutes:
        shown = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
        first, second = shown.astimezone(UTC), shown.replace(fold=1).astimezone(UTC)
        # A clock that is put forward never shows what lies in the gap: by the offset before it that is later.
        is_left_out = first > second
        if not (is_left_out and expression.is_hourly):
            found.add(first)
        if expression.is_hourly and second > first:
            found.add(second)
    return sorted(found)
