"""A page as text: Playwright's outline of what can be seen and used, made short, and what its references mean. Pure.

All of it is text of the page's author.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TEXT_CHARS: Final = 8_000
DESCRIBED_CHARS: Final = 200

_KEY: Final = re.compile(
    r"(?P<role>[\w-]+)(?: (?P<name>\"(?:[^\"\\]|\\.)*\"|/.*/))?(?P<marks>(?: \[[^\]\"]*\])*)(?P<rest>:.*|)$", re.DOTALL
)
_QUOTED: Final = re.compile(r"'(?P<key>(?:[^']|'')*)'(?P<rest>.*)$", re.DOTALL)
_REFERENCE: Final = re.compile(r"\[ref=(\w+)\]")
_BOX: Final = re.compile(r" \[box=(-?[\d.]+),(-?[\d.]+),(-?[\d.]+),(-?[\d.]+)\]")
# Of these what stands behind the colon is what somebody typed.
_FIELDS: Final = ("textbox", "searchbox", "combobox", "spinbutton")


@dataclass(frozen=True, slots=True)
class Outline:
    """`elements`: by reference, what each is in words that no other element of the page has."""

    text: str
    elements: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Line:
    """`bottom`: where it ends on the screen, in pixels; None if that is not known."""

    indent: int
    text: str
    reference: str
    description: str
    bottom: float | None


def outline_of(told: str) -> Outline:
    """`told`: as Playwright gives it for models, with boxes. What lies above the screen is left out of the text, so
    that scrolling leads on; its elements can be found all the same."""
    lines = [_read(line) for line in told.splitlines() if line.strip()]
    return Outline(text=_clipped(_from_the_top(lines)), elements=_told_apart(lines))


def shown_in(outline: Outline) -> dict[str, str]:
    """The elements whose references can be read in the text."""
    shown = set(_REFERENCE.findall(outline.text))
    return {reference: words for reference, words in outline.elements.items() if reference in shown}


def _read(line: str) -> _Line:
    indent = len(line) - len(line.lstrip())
    bare = line.strip().removeprefix("- ")
    quoted = _QUOTED.match(bare)
    key = quoted["key"].replace("''", "'") + quoted["rest"] if quoted else bare
    found = _KEY.match(key)
    if found is None:
        return _Line(indent, line, "", "", None)
    box, reference = _BOX.search(found["marks"]), _REFERENCE.search(found["marks"])
    bottom = float(box[2]) + float(box[4]) if box else None
    text = line.replace(box[0], "", 1) if box else line
    return _Line(indent, text, reference[1] if reference else "", _described(found), bottom)


def _described(found: re.Match[str]) -> str:
    said = "" if found["role"] in _FIELDS else found["rest"].removeprefix(":").strip()
    words = f"{found['role']} {found['name'] or said}".strip()
    return words if len(words) <= DESCRIBED_CHARS else f"{words[:DESCRIBED_CHARS]}…"


def _from_the_top(lines: list[_Line]) -> list[str]:
    """Without what lies above the screen, and what belongs to it."""
    kept: list[str] = []
    left_out: int | None = None
    for line in lines:
        if left_out is not None and line.indent > left_out:
            continue
        left_out = line.indent if line.bottom is not None and line.bottom < 0 else None
        if left_out is None:
            kept.append(line.text)
    return kept


def _clipped(lines: list[str]) -> str:
    kept: list[str] = []
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > TEXT_CHARS:
            kept.append("… (the page goes on: scroll down to read on)" if kept else line[:TEXT_CHARS])
            break
        kept.append(line)
    return "\n".join(kept)


def _told_apart(lines: list[_Line]) -> dict[str, str]:
    """Of elements that are alike each is told with its number."""
    alike: dict[str, list[str]] = {}
    for line in lines:
        if line.reference and line.description:
            alike.setdefault(line.description, []).append(line.reference)
    return {
        reference: description if len(references) == 1 else f"{description} ({number} of {len(references)})"
        for description, references in alike.items()
        for number, reference in enumerate(references, start=1)
    }
