"""The day that a document is of: what it says of itself, what its name says, what its first lines say. Pure.

Not sure is None: a wrong date hides a document from whoever asks for the right one.
"""

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath
from typing import Final

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero", "feb february februar février febrero", "mar march märz mars marzo",
            "apr april avril abril", "may mai mayo", "jun june juni juin junio", "jul july juli juillet julio",
            "aug august août agosto", "sep sept september septembre septiembre",
            "oct october oktober okt octobre octubre", "nov november novembre noviembre",
            "dec december dezember dez décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH: Final = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_YEAR: Final = r"((?:19|20)\d\d)"
_HEAD_CHARS: Final = 3_000
_FIRST_LINES: Final = 12

_ISO: Final = re.compile(rf"(?<!\d){_YEAR}[-_./]?(0[1-9]|1[0-2])[-_./]?(0[1-9]|[12]\d|3[01])(?!\d)")
_MONTH_DAY_YEAR: Final = re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+{_YEAR}\b", re.IGNORECASE)
_DAY_MONTH_YEAR: Final = re.compile(
    rf"\b(\d{{1,2}})(?:\.|st|nd|rd|th)?\s+(?:de\s+)?{_MONTH}\s+(?:de\s+)?{_YEAR}\b", re.IGNORECASE
)
_POINTED: Final = re.compile(rf"(?<!\d)(\d{{1,2}})\.(\d{{1,2}})\.{_YEAR}(?!\d)")
_QUARTER: Final = re.compile(
    rf"(?<![A-Za-z\d]){_YEAR}[\s_-]*Q([1-4])(?!\d)|(?<![A-Za-z])Q([1-4])[\s_-]*(?:FY[\s_-]*)?{_YEAR}(?!\d)",
    re.IGNORECASE,
)
_SHORT_QUARTER: Final = re.compile(
    r"(?<![A-Za-z\d])([1-4])Q[\s_-]?(?:20)?(\d\d)(?!\d)|(?<![A-Za-z])Q([1-4])[\s_-]?(?:FY)?(\d\d)(?!\d)",
    re.IGNORECASE,
)
_MONTH_YEAR: Final = re.compile(
    rf"(?<![A-Za-z]){_MONTH}[\s_-]*{_YEAR}(?!\d)|(?<!\d){_YEAR}[\s_-]+{_MONTH}(?![A-Za-z])", re.IGNORECASE
)
_ISO_MONTH: Final = re.compile(rf"(?<!\d){_YEAR}-(0[1-9]|1[0-2])(?![-.]?\d)")
_ONLY_YEAR: Final = re.compile(rf"(?<![A-Za-z\d])(?:FY|CY)?[\s_-]?{_YEAR}(?!\d)", re.IGNORECASE)
_SHORT_YEAR: Final = re.compile(r"(?<![A-Za-z\d])FY[\s_-]?(\d\d)(?!\d)", re.IGNORECASE)
# The one date in a report that says what it is about.
_PERIOD: Final = re.compile(
    r"\b(?:for the\s+)?(?:(?:quarter|year|month|week|half)(?:ly)?(?:\s+period)?|period|(?:fiscal|financial)\s+year|"
    r"(?:three|six|nine|twelve)\s+months)\s+(?:ended|ending)\s*:?\s*",
    re.IGNORECASE,
)
_DATED: Final = re.compile(
    r"(?:dated|date|datum|stand|as of|published|updated|last modified|veröffentlicht)\s*:?\s*(.*)", re.IGNORECASE
)
_PDF_DATE: Final = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")


@dataclass(frozen=True, slots=True)
class _Span:
    """A quarter, a month or a year."""

    first: date
    last: date

    def day(self, today: date) -> date | None:
        """Its last, and its first as long as it lasts: nothing is of a day that has not been. None if it lies ahead."""
        if self.last <= today:
            return self.last
        return self.first if self.first <= today else None


def date_of(text: str, filename: str, metadata: Mapping[str, str], *, today: date) -> date | None:
    """`text`: the beginning of the document. `metadata`: `published` is believed, `created` only if nothing else says.

    In this order: `published`, the name, the period that the text reports on, its first lines, `created`. A quarter, a
    month or a year is its last day, the present one its first, and one to come none; a whole date is taken as it is.
    """
    name = PurePath(filename).stem
    return (
        _told(metadata.get("published", ""), today) or _in_name(name, today) or _of_period(text[:_HEAD_CHARS])
        or _in_first_lines(text[:_HEAD_CHARS]) or _told(metadata.get("created", ""), today)
    )  # fmt: skip


def _told(value: str, today: date) -> date | None:
    found = _PDF_DATE.match(value)
    if not found:
        return _full(value)
    year, month, day = found.groups()
    if day:
        return _day(year, month, day)
    span = _months(year, int(month or 1), int(month or 12))
    return span.day(today) if span else None


def _in_name(name: str, today: date) -> date | None:
    day = _full(name) or _full(name.replace("_", " "))
    if day:
        return day
    span = _quarter(name) or _month(name) or _year(name)
    return span.day(today) if span else None


def _of_period(head: str) -> date | None:
    for found in _PERIOD.finditer(head):
        day = _full_at_start(head[found.end() : found.end() + 40])
        if day:
            return day
    return None


def _in_first_lines(head: str) -> date | None:
    """A line that is a date and nothing else, or one that says that it is."""
    for line in [line.strip(" *_#>|") for line in head.split("\n") if line.strip()][:_FIRST_LINES]:
        labelled = _DATED.match(line)
        day = _full_at_start(labelled[1]) if labelled else _full_at_start(line) if len(line) <= 30 else None
        if day:
            return day
    return None


def _full_at_start(text: str) -> date | None:
    text = text.lstrip()
    for pattern in (_ISO, _MONTH_DAY_YEAR, _DAY_MONTH_YEAR, _POINTED):
        found = pattern.match(text)
        if found:
            return _of_match(pattern, found)
    return None


def _full(text: str) -> date | None:
    """The first date with a day in it. 3/4/2023 is March or April: not sure."""
    for pattern in (_ISO, _MONTH_DAY_YEAR, _DAY_MONTH_YEAR, _POINTED):
        for found in pattern.finditer(text):
            day = _of_match(pattern, found)
            if day:
                return day
    return None


def _of_match(pattern: re.Pattern[str], found: re.Match[str]) -> date | None:
    first, second, third = found[1], found[2], found[3]
    if pattern is _ISO:
        return _day(first, second, third)
    if pattern is _MONTH_DAY_YEAR:
        return _day(third, _MONTHS[first.lower()], second)
    if pattern is _DAY_MONTH_YEAR:
        return _day(third, _MONTHS[second.lower()], first)
    return _day(third, second, first)


def _quarter(name: str) -> _Span | None:
    found = _QUARTER.search(name)
    if found:
        return _quarter_of(found[1] or found[4], int(found[2] or found[3]))
    found = _SHORT_QUARTER.search(name)
    return _quarter_of(f"20{found[2] or found[4]}", int(found[1] or found[3])) if found else None


def _quarter_of(year: str, number: int) -> _Span | None:
    return _months(year, 3 * number - 2, 3 * number)


def _month(name: str) -> _Span | None:
    found = _MONTH_YEAR.search(name)
    if found:
        month = _MONTHS[(found[1] or found[4]).lower()]
        return _months(found[2] or found[3], month, month)
    found = _ISO_MONTH.search(name)
    return _months(found[1], int(found[2]), int(found[2])) if found else None


def _year(name: str) -> _Span | None:
    """Only if the name has one year: “2019-2023” is none."""
    years = set(_ONLY_YEAR.findall(name)) or {f"20{year}" for year in _SHORT_YEAR.findall(name)}
    return _months(years.pop(), 1, 12) if len(years) == 1 else None


def _months(year: str, first: int, last: int) -> _Span | None:
    """None for months that there are not."""
    begins = _day(year, first, 1)
    ends = _day(year, last, monthrange(int(year), last)[1]) if begins else None
    return _Span(begins, ends) if begins and ends else None


def _day(year: str | int, month: str | int, day: str | int) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
