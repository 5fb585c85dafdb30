"""Tables of numbers among lines of text: rows that end in figures, one below the other. Pure.

Only what is sure: at least three rows, two of which end in two figures or more, or one in money. Other tables stay
lines of text."""

import re
from dataclasses import dataclass
from typing import Final

from hyperagent.lib.clipping import one_line

_FIGURE: Final = re.compile(
    r"[$€£¥]?\(?[$€£¥]?[-+−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+|"
    r"(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?|\d{1,3}(?:['’]\d{3})+(?:[.,]\d+)?)"
    r"\)?%?[€£]?\)?|[$€£¥]?[—–]%?|n/?a|nm",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_CURRENCY: Final = frozenset("$€£¥")
# In most of Europe what it is an amount of stands behind it.
_CLOSING: Final = frozenset({"%", ")", ")%", "%)", "€", "£", "EUR", "CHF", "T€", "TEUR", "Mio."})
_LABEL_CHARS: Final = 110
_HEAD_LINES: Final = 14
_ROWS_LEAST: Final = 3
_WIDE_LEAST: Final = 2


@dataclass(frozen=True, slots=True)
class Run:
    """Lines [start, end); those before `rows` are the heads of the columns."""

    start: int
    rows: int
    end: int


def table_runs(lines: list[str], may_be_head: list[bool]) -> list[Run]:
    """In their order, not overlapping."""
    counts = [_figures_in(line) for line in lines]
    runs, at = list[Run](), 0
    while at < len(lines):
        end = _end_of_rows(lines, counts, at)
        if _is_table(lines[at:end], counts[at:end]):
            runs.append(_with_heads(lines, may_be_head, runs[-1].end if runs else 0, at, end))
        at = max(end, at + 1)
    return runs


def _figures_in(line: str) -> int:
    label, *figures = cells_of(line)
    # A long line that happens to end in a number is prose.
    return len(figures) if len(figures) > 1 or (label and len(label) <= _LABEL_CHARS) else 0


def _end_of_rows(lines: list[str], counts: list[int], at: int) -> int:
    """Where the rows that begin at `at` end; a label without figures may stand between two rows."""
    end = at
    while end < len(lines):
        is_label = _is_label(lines[end]) and any(counts[end + 1 : end + 3])
        if not counts[end] and not (end > at and is_label):
            break
        end += 1
    return end


def _is_table(lines: list[str], counts: list[int]) -> bool:
    rows = sum(count >= 1 for count in counts)
    wide = sum(count >= 2 for count in counts)
    money = any(count and any(sign in line for sign in _CURRENCY) for line, count in zip(lines, counts, strict=True))
    return rows >= _ROWS_LEAST and (wide >= _WIDE_LEAST or money)


def _with_heads(lines: list[str], may_be_head: list[bool], least: int, at: int, end: int) -> Run:
    """The rows with what stands above them: the heads of the columns, and a label such as `Net sales:` below those."""
    rows = at
    while rows < end - 1 and not cells_of(lines[rows])[0]:
        rows += 1  # years above the columns
    above = lines[at - 1] if at > least + 1 and may_be_head[at - 2] else ""
    if rows == at and above.endswith(":") and _is_label(above):
        rows = at - 1
    start = min(rows, at)
    while start > max(least, rows - _HEAD_LINES) and may_be_head[start - 1] and not lines[start - 1].endswith("."):
        start -= 1
    return Run(start, rows, end)


def _is_label(line: str) -> bool:
    return len(line) <= _LABEL_CHARS and not line.endswith(".")


def table_text(lines: list[str], run: Run) -> str:
    """One line a row; the heads of the columns, which nobody can tell apart, are one row."""
    rows = [cells_of(line) for line in lines[run.rows : run.end]]
    head = " ".join(lines[run.start : run.rows])
    return "\n".join(bars(row) for row in [*([[head]] if head else []), *rows])


def bars(cells: list[str]) -> str:
    return "| " + " | ".join(one_line(cell.replace("|", "/")) for cell in cells) + " |"


def cells_of(line: str) -> list[str]:
    """The label, which may be empty, and the figures at the end of the line."""
    words = line.split()
    figures, at = list[str](), len(words)
    while at:
        start = at - 1
        closing = ""
        while words[start] in _CLOSING and start:
            closing, start = f" {words[start]}{closing}", start - 1
        if not _FIGURE.fullmatch(words[start]):
            break
        if start and words[start - 1].endswith(",") and _YEAR.fullmatch(words[start]):
            # The end of a date.
            break
        figure = words[start] + closing
        if start and words[start - 1] in _CURRENCY:
            start -= 1
            figure = f"{words[start]} {figure}"
        figures.append(figure)
        at = start
    return [" ".join(words[:at]), *reversed(figures)]
