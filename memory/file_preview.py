"""What a page shows of a file: a picture, the pages of a PDF, a text, a table, or nothing. No more of it is read than
is shown."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Final

from django.utils.translation import gettext as _

from memory.workspaces.files import FileFacts
from memory.workspaces.showing import HEAD_BYTES, PDF, shown_as
from memory.workspaces.texts import text_in

TEXT_BYTES: Final = 300_000
TABLE_ROWS: Final = 300
TABLE_COLUMNS: Final = 60
CELL_CHARS: Final = 300
FIRST_LINE_CHARS: Final = 4_096
_DELIMITERS: Final = ";\t|,"
_QUOTED: Final = re.compile(r'"[^"]*"')
_TABLES: Final = ("text/csv", "text/tab-separated-values")


@dataclass(frozen=True, slots=True)
class Preview:
    """`kind`: image, pdf, table, markdown, text or nothing. `rows`: of a table, the first is its head. `language`: by
    which a text is coloured. `note`: what of it is not shown, for people."""

    kind: str
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    language: str = ""
    note: str = ""


def preview_of(facts: FileFacts, content: IO[bytes]) -> Preview:
    """Reads the stream from where it stands."""
    head = content.read(HEAD_BYTES)
    shown = shown_as(head, facts.media_type)
    if shown and shown.startswith("image/"):
        return Preview("image")
    if facts.media_type == PDF and shown == PDF:
        return Preview("pdf")
    text = text_in(head + content.read(TEXT_BYTES - len(head)))
    if text is None or (facts.media_type.startswith(("image/", "audio/", "video/")) and "svg" not in facts.media_type):
        return Preview("nothing")
    note = (
        ""
        if facts.size_bytes <= TEXT_BYTES
        else _("Only the first {value} kB are shown.").format(value=TEXT_BYTES // 1000)
    )
    if facts.media_type in _TABLES:
        return _table(text, facts.media_type, note)
    if facts.media_type == "text/markdown":
        return Preview("markdown", text=text, note=note)
    return Preview("text", text=text, language=_language(facts.path), note=note)


def _table(text: str, media_type: str, note: str) -> Preview:
    dialect = csv.excel_tab if media_type == _TABLES[1] else _dialect(text)
    try:
        found = list(_rows(text, dialect))
    except csv.Error:
        return Preview("text", text=text, note=note)
    if not found:
        return Preview("text", text=text)
    width = min(max(len(row) for row in found), TABLE_COLUMNS)
    rows = tuple(tuple(cell[:CELL_CHARS] for cell in row[:width]) + ("",) * (width - len(row)) for row in found)
    said = [note] if note else []
    if len(found) > TABLE_ROWS:
        said.append(_("Only the first {table_rows} rows are shown.").format(table_rows=TABLE_ROWS))
    if max(len(row) for row in found) > TABLE_COLUMNS:
        said.append(_("Only the first {table_columns} columns are shown.").format(table_columns=TABLE_COLUMNS))
    return Preview("table", rows=rows[: TABLE_ROWS + 1], note=" ".join(said))


def _rows(text: str, dialect: type[csv.Dialect]) -> "list[list[str]]":
    """One more than is shown, so that it is known whether there are more."""
    found = []
    for row in csv.reader(io.StringIO(text), dialect):
        if row:
            found.append(row)
        if len(found) > TABLE_ROWS + 1:
            break
    return found


def _dialect(text: str) -> type[csv.Dialect]:
    """By what its first line is divided, outside of quotes; `csv.Sniffer` takes minutes for some lines."""
    first = _QUOTED.sub("", text[:FIRST_LINE_CHARS].lstrip().split("\n", 1)[0])
    most = max(_DELIMITERS, key=first.count)

    class Found(csv.excel):
        delimiter = most

    return Found


def _language(path: str) -> str:
    return PurePosixPath(path).suffix.lower().removeprefix(".")
