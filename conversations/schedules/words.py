"""A schedule's times in words, and as whoever chooses them sees them: every day, on these days of the week, on this day
of the month. What is none of these stays a cron expression. Pure, but for the reader's language.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from enum import StrEnum
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from conversations.schedules.times import Cron, Every, Once, Rhythm

LAST_DAY: Final = "L"
_UNITS_S: Final = {"days": 86_400, "hours": 3_600, "minutes": 60}
_AT = r"(?P<minute>[0-9]{1,2}) (?P<hour>[0-9]{1,2})"
_DAILY = re.compile(rf"{_AT} \* \* \*")
_WORKDAYS = re.compile(rf"{_AT} \* \* (1-5|mon-fri)")
_WEEKLY = re.compile(rf"{_AT} \* \* (?P<weekdays>[0-7](,[0-7])*)")
_MONTHLY = re.compile(rf"{_AT} (?P<day>[0-9]{{1,2}}|l) \* \*")


class Frequency(StrEnum):
    """What people choose from."""

    DAILY = "daily"
    WORKDAYS = "workdays"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    EVERY = "every"
    ONCE = "once"
    CRON = "cron"


@dataclass(frozen=True, slots=True)
class Picked:
    """`weekdays`: 0 is Sunday. `day`: of the month, from 1 on, or LAST_DAY."""

    frequency: Frequency
    at: time = time(9, 0)
    weekdays: tuple[int, ...] = ()
    day: str = ""


def cron_of(picked: Picked) -> str:
    """Of what comes by the day, week or month."""
    at = f"{picked.at.minute} {picked.at.hour}"
    match picked.frequency:
        case Frequency.DAILY:
            return f"{at} * * *"
        case Frequency.WORKDAYS:
            return f"{at} * * 1-5"
        case Frequency.WEEKLY:
            return f"{at} * * {','.join(map(str, sorted(picked.weekdays)))}"
        case Frequency.MONTHLY:
            return f"{at} {picked.day} * *"
        case Frequency.EVERY | Frequency.ONCE | Frequency.CRON:
            raise ValueError(f"{picked.frequency} is no cron expression that could be made of days and a time")
        case _:
            assert_never(picked.frequency)


def picked_from(cron: str) -> Picked:
    """The other way round. `cron` is an expression that can be read."""
    text = " ".join(cron.lower().split())
    if found := _DAILY.fullmatch(text):
        return Picked(Frequency.DAILY, _time(found))
    if found := _WORKDAYS.fullmatch(text):
        return Picked(Frequency.WORKDAYS, _time(found))
    if found := _WEEKLY.fullmatch(text):
        return Picked(
            Frequency.WEEKLY, _time(found), tuple(sorted({int(day) % 7 for day in found["weekdays"].split(",")}))
        )
    if found := _MONTHLY.fullmatch(text):
        return Picked(Frequency.MONTHLY, _time(found), day=found["day"].lstrip("0").upper())
    return Picked(Frequency.CRON)


def parts_of(pause_s: int) -> tuple[int, str]:
    """(6, "hours") of six hours: in the largest unit that is whole."""
    unit = next(name for name, seconds in _UNITS_S.items() if pause_s % seconds == 0)
    return pause_s // _UNITS_S[unit], unit


def pause_of(count: int, unit: str) -> int:
    """In seconds."""
    return count * _UNITS_S[unit]


def in_words(rhythm: Rhythm, *, cron: str, zone: ZoneInfo) -> str:
    """`cron`: as it was written. `zone`: that of the schedule."""
    match rhythm:
        case Once(at):
            return _("Once, on {moment}").format(moment=date_format(at.astimezone(zone), "SHORT_DATETIME_FORMAT"))
        case Every(_begins_at, pause_s):
            return _every(*parts_of(pause_s))
        case Cron():
            return _by_days(picked_from(cron), cron)
        case _:
            assert_never(rhythm)


def _every(count: int, unit: str) -> str:
    if count == 1:
        # Never a minute: times lie farther apart.
        return _("Every 24 hours") if unit == "days" else _("Every hour")
    match unit:
        case "days":
            said = ngettext("Every {count} day", "Every {count} days", count)
        case "hours":
            said = ngettext("Every {count} hour", "Every {count} hours", count)
        case _:
            said = ngettext("Every {count} minute", "Every {count} minutes", count)
    return said.format(count=count)


def _by_days(picked: Picked, cron: str) -> str:
    at = f"{picked.at:%H:%M}"
    match picked.frequency:
        case Frequency.DAILY:
            return _("Every day at {time}").format(time=at)
        case Frequency.WORKDAYS:
            return _("Monday to Friday at {time}").format(time=at)
        case Frequency.WEEKLY:
            return _("Every {days} at {time}").format(days=_named(picked.weekdays), time=at)
        case Frequency.MONTHLY if picked.day == LAST_DAY:
            return _("On the last day of each month at {time}").format(time=at)
        case Frequency.MONTHLY:
            return _("On day {day} of each month at {time}").format(day=picked.day, time=at)
        case _:
            return _("By cron: {expression}").format(expression=" ".join(cron.split()))


def _named(weekdays: Sequence[int]) -> str:
    """From Monday on."""
    in_order = sorted((number - 1) % 7 for number in weekdays)
    return get_text_list([str(WEEKDAYS[number]) for number in in_order], _("and"))


def _time(found: re.Match[str]) -> time:
    return time(int(found["hour"]), int(found["minute"]))
