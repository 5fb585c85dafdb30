"""From what a plan and a model say of a question to filters that a search of documents takes. Pure.

A filter that is wrong hides the answer: whatever cannot be read for certain is left out.
"""

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from memory.reading.kinds import DOC_TYPES

_OTHER_NAMES: Final = {
    "word": "docx", "excel": "xlsx", "spreadsheet": "xlsx", "text": "txt", "markdown": "md", "powerpoint": "pptx",
    "htm": "html", "tsv": "csv",
}  # fmt: skip
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_PERIOD = re.compile(
    r"(?:(?P<half>Q[1-4])[\s/-]*)?(?P<year>(?:19|20)\d{2})(?:[\s/-]*(?P<part>Q[1-4]|0[1-9]|1[0-2]))?", re.IGNORECASE
)


def filters_of(entities: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, str]:
    """`entities`: the plan's. `found`: doc_type, filename, topic, date_from and date_to as a model read them, "" for
    none. A topic is looked for in the headings above a passage."""
    first, last = _range_of(entities.get("date_range"))
    chosen = {
        "doc_type": doc_type_of(found.get("doc_type") or entities.get("doc_type")),
        "filename": (found.get("filename") or "").strip(),
        "section_title": _text(found.get("topic") or entities.get("topic")),
        "date_from": _day(found.get("date_from")) or first,
        "date_to": _day(found.get("date_to")) or last,
    }
    if chosen["date_from"] and chosen["date_to"] and chosen["date_from"] > chosen["date_to"]:
        chosen["date_from"] = chosen["date_to"] = ""
    return {name: value for name, value in chosen.items() if value}


def doc_type_of(name: Any) -> str:
    """A kind of document that the search knows; empty for all else, such as "report"."""
    bare = name.strip().lower().lstrip(".") if isinstance(name, str) else ""
    bare = _OTHER_NAMES.get(bare, bare)
    return bare if bare in DOC_TYPES else ""


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _range_of(value: Any) -> tuple[str, str]:
    """First and last day of what a plan calls a date range: a year, a quarter, a month, two days, or a mapping."""
    if isinstance(value, Mapping):
        ends = (
            [value.get(name) for name in ("from", "start", "date_from")],
            [value.get(name) for name in ("to", "end", "date_to")],
        )
        first, last = (next((_day(day) for day in days if day), "") for days in ends)
        return first, last
    if not isinstance(value, str):
        return "", ""
    days = [day for day in _DAY.findall(value) if _day(day)]
    if len(days) == 2:
        return days[0], days[1]
    period = _PERIOD.fullmatch(value.strip())
    return _days_of(period) if period else ("", "")


def _days_of(period: re.Match[str]) -> tuple[str, str]:
    year = int(period["year"])
    part = (period["half"] or period["part"] or "").upper()
    first, last = 1, 12
    if part.startswith("Q"):
        last = 3 * int(part[1])
        first = last - 2
    elif part:
        first = last = int(part)
    return date(year, first, 1).isoformat(), date(year, last, monthrange(year, last)[1]).isoformat()


def _day(text: Any) -> str:
    if not isinstance(text, str) or not _DAY.fullmatch(text.strip()):
        return ""
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        return ""
