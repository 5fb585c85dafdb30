"""Which stretch of time a sum of usage is of: days as somebody's clock shows them, as moments of the world's. Pure."""

import calendar
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

DAYS: Final = 30
MOST_DAYS: Final = 366
FIRST: Final = date(2000, 1, 1)
LAST: Final = date(2100, 12, 31)


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days, the first and the last among them, in a time zone."""

    first: date
    last: date
    zone: ZoneInfo

    @property
    def start(self) -> datetime:
        return _midnight(self.first, self.zone)

    @property
    def end(self) -> datetime:
        """The moment after it."""
        return _midnight(self.last + timedelta(days=1), self.zone)

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]

    @property
    def day_starts(self) -> list[datetime]:
        """One for each day, and the end."""
        return [*(_midnight(day, self.zone) for day in self.days), self.end]


@dataclass(frozen=True, slots=True)
class Months:
    """A month until today, and the one before it: the same days of it, and what came after those."""

    now: Span
    same_days_before: Span
    before: Span

    @property
    def bounds(self) -> list[datetime]:
        """Of three stretches: the same days before, the rest of that month, and the month now."""
        return [self.before.start, self.same_days_before.end, self.now.start, self.now.end]


def last_days(count: int, today: date, zone: ZoneInfo) -> Span:
    return Span(today - timedelta(days=count - 1), today, zone)


def months(today: date, zone: ZoneInfo) -> Months:
    first = today.replace(day=1)
    last_before = first - timedelta(days=1)
    first_before = last_before.replace(day=1)
    same = min(today.day, calendar.monthrange(first_before.year, first_before.month)[1])
    return Months(
        Span(first, today, zone),
        Span(first_before, first_before.replace(day=same), zone),
        Span(first_before, last_before, zone),
    )


def span_fault(first: date, last: date) -> str:
    """What is wrong with the two days; empty if nothing is."""
    if first > last:
        return f"The range begins on {first} and ends before that, on {last}. Exchange the two."
    if first < FIRST or last > LAST:
        return f"Days are counted from {FIRST} to {LAST}. Choose some of those."
    if (count := (last - first).days + 1) > MOST_DAYS:
        return f"The range has {count} days; at most {MOST_DAYS} are summed up at once. Choose a shorter one."
    return ""


def zone_of(name: str) -> ZoneInfo | None:
    """None for a name that the time zone database does not have."""
    return ZoneInfo(name) if name in _zones() else None


def first_zone(*names: str) -> ZoneInfo:
    """That of the first name that is one; the world's if none is."""
    return next((found for name in names if (found := zone_of(name))), ZoneInfo("UTC"))


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time.min, zone)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())
