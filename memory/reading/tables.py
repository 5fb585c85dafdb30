"""Tables as text: a line a row, the cells between Markdown's bars, empty rows and columns left out. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from memory.reading import caps
from memory.reading.cleaning import one_line


def table_lines(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as they are, whole, for they may be paragraphs side by side; the first is the header."""
    texts = [[_plain(cell) for cell in row] for row in rows]
    texts = [row for row in texts if any(row)]
    width = max(map(len, texts), default=0)
    kept = [column for column in range(width) if any(column < len(row) and row[column] for row in texts)]
    return [bars([row[column] if column < len(row) else "" for column in kept]) for row in texts]


def cell_text(cell: str) -> str:
    """One line, and no bar of its own, of a sheet."""
    text = _plain(cell[: caps.CELL_CHARS])
    return text if len(cell) <= caps.CELL_CHARS else text + "…"


def _plain(cell: str) -> str:
    return one_line(cell).replace("|", "/")


def bars(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def header_at(rows: Sequence[Sequence[str]]) -> int:
    """Which of the first rows names the columns: the first that is about as full as most. What stands above it is a
    title, or whose account it is. The corner above the names of rows may be empty."""
    filled = [sum(map(bool, row)) for row in rows]
    usual = max(set(filled), key=lambda count: (filled.count(count), count), default=0)
    for at, (row, count) in enumerate(zip(rows, filled, strict=True)):
        if count >= max(2, usual - 1) or (count == usual - 1 and not row[0]):
            return at
    return 0


def portions(lines: Iterable[str], *, header: str, most_chars: int) -> Iterator[str]:
    """The rows below `header` in tables of about `most_chars`, each with the header on top."""
    portion, chars = [header], len(header)
    for line in lines:
        if chars > most_chars and len(portion) > 1:
            yield "\n".join(portion)
            portion, chars = [header], len(header)
        portion.append(line)
        chars += len(line) + 1
    yield "\n".join(portion)
