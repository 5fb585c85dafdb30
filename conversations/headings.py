"""Markdown within Markdown: an answer's headings stand below that of its message. Pure."""

import re
from typing import Final

DEEPER: Final = 2
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")


def deeper(text: str, by: int = DEEPER) -> str:
    """Markdown whose headings are so many levels further down, the sixth at most. What stands in code stays; code that
    is not ended, as of an answer that was stopped, ends with the text."""
    lines, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            ends = found is not None and found.group(1).startswith(fence) and not line.strip(" `~")
            fence = "" if ends else fence
        elif found:
            fence = found.group(1)
        elif head := _HEADING.match(line):
            lines.append(f"{head.group(1)}{'#' * min(6, len(head.group(2)) + by)}{line[head.end() :]}")
            continue
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)
