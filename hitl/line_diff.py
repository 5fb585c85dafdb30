"""What two texts do not have in common, line by line, for where no page draws it. Pure."""

from collections import Counter
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Final

AROUND: Final = 3
"""So many lines that both have are shown before and after what differs."""

MOST_LIKENESSES: Final = 20_000
"""Beyond it the comparison takes seconds, and nobody would read it: all lines are said to be other ones."""


class Line(StrEnum):
    SAME = "same"
    GONE = "gone"
    NEW = "new"
    LEFT_OUT = "left_out"
    """Lines that both have, and that are not shown."""


def line_diff(before: Any, after: Any) -> list[tuple[Line, str]]:
    """Each line with what becomes of it. The line of what is left out has no text. What is no text counts as empty."""
    old, new = _lines(before), _lines(after)
    if (not old or old[-1] == "") and (not new or new[-1] == ""):
        # Both end with the end of a line: behind it is nothing that could differ.
        old, new = old[:-1], new[:-1]
    if _likenesses(old, new) > MOST_LIKENESSES:
        return [*((Line.GONE, line) for line in old), *((Line.NEW, line) for line in new)]
    found: list[tuple[Line, str]] = []
    shown = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND):
        if group[0][1] > shown:
            found.append((Line.LEFT_OUT, ""))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                found += [(Line.SAME, line) for line in old[old_from:old_to]]
                continue
            found += [(Line.GONE, line) for line in old[old_from:old_to]]
            found += [(Line.NEW, line) for line in new[new_from:new_to]]
        shown = group[-1][2]
    if found and shown < len(old):
        found.append((Line.LEFT_OUT, ""))
    return found


def _likenesses(old: list[str], new: list[str]) -> int:
    """How many pairs of lines are the same: what there is to compare."""
    times = Counter(new)
    return sum(times[line] for line in old)


def _lines(text: Any) -> list[str]:
    return text.split("\n") if isinstance(text, str) and text else []
