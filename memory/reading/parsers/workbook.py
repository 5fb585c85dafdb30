"""Sheets of Excel and OpenDocument: each sheet a page with its name, its rows a table below the header."""

import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import python_calamine as calamine

from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.containers import refuse_entities, start_of, unpacking
from memory.reading.kinds import OPENDOCUMENT, OPENDOCUMENT_AMONG
from memory.reading.paging import Missing, Part
from memory.reading.tables import bars, cell_text, header_at, portions
from memory.reading.values import Head

_SHEET: Final = re.compile(r"xl/worksheets/[^/]+\.xml")
_NEEDED: Final = re.compile(
    r"\[Content_Types\]\.xml|.*\.rels|xl/(?:workbook|sharedStrings|styles|metadata)[^/]*|xl/(?:worksheets|tables)/[^/]+",
    re.IGNORECASE,
)
_HEADER_AMONG: Final = 10
_EXACT_BELOW: Final = 2.0**53
"""Excel keeps fifteen digits, and whole numbers up to this one are none but themselves."""


def parts(path: Path, *, filename: str) -> Iterator[Head | Part | Missing]:
    yield Head()
    cut = list[str]()
    try:
        workbook = calamine.CalamineWorkbook.from_object(_opened(path, cut))
        for sheet in workbook.sheets_metadata:
            if sheet.typ == calamine.SheetTypeEnum.WorkSheet:
                yield from _sheet(workbook, sheet.name)
    except calamine.PasswordError as error:
        raise reasons.locked("workbook") from error
    except (calamine.CalamineError, ValueError, OSError) as error:
        raise reasons.broken("workbook", program="Excel") from error
    if cut:
        yield Missing("Partly read: a sheet is too large, and its last rows are left out.")


def _opened(path: Path, cut: list[str]) -> IO[bytes]:
    """The reader takes a sheet into memory whole: of those that are too large it gets the first rows. It gets the bytes
    and not the path, for it believes what a name ends in."""
    if not zipfile.is_zipfile(path):
        return path.open("rb")
    with path.open("rb") as file:
        is_opendocument = OPENDOCUMENT in file.read(OPENDOCUMENT_AMONG)
    if not is_opendocument:
        with unpacking(path, "xlsx") as container:
            return _lighter(container, cut)
    with unpacking(path, "ods") as container:
        if container.getinfo("content.xml").file_size > caps.SHEET_BYTES:
            raise reasons.large_member(caps.SHEET_BYTES)
    return path.open("rb")


def _lighter(container: zipfile.ZipFile, cut: list[str]) -> BytesIO:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as light:
        for member in container.infolist():
            if not _NEEDED.fullmatch(member.filename):
                continue
            most = caps.SHEET_BYTES if _SHEET.fullmatch(member.filename) else caps.MEMBER_BYTES
            content = start_of(container, member, most=most)
            refuse_entities(member.filename, content[: caps.MIB])
            if member.file_size > len(content):
                cut.append(member.filename)
                content = _ended(member.filename, content)
            light.writestr(member.filename, content)
    made.seek(0)
    return made


def _ended(name: str, content: bytes) -> bytes:
    """A sheet that was cut off, with its last whole row and the ends of what is open."""
    if not _SHEET.fullmatch(name):
        raise reasons.large_member(caps.MEMBER_BYTES)
    return content[: content.rfind(b"</row>") + len(b"</row>")] + b"</sheetData></worksheet>"


def _sheet(workbook: Any, name: str) -> Iterator[Part | Missing]:
    sheet = workbook.get_sheet_by_name(name)
    rows = ([_shown(cell) for cell in row[: caps.COLUMNS]] for row in islice(sheet.iter_rows(), caps.ROWS))
    filled = (row for row in rows if any(row))
    top = list(islice(filled, _HEADER_AMONG))
    if not top:
        return
    at = header_at(top)
    for row in top[:at]:
        yield Part(BlockKind.PARAGRAPH, " ".join(filter(None, row)), 0, name)
    kept = _used_columns(sheet, top[at:])
    lines = (bars([row[column] for column in kept]) for row in _chained(top[at + 1 :], filled))
    header = bars([top[at][column] for column in kept])
    for number, table in enumerate(portions(lines, header=header, most_chars=caps.PAGE_CHARS)):
        yield Part(BlockKind.TABLE, table, 0, name, new_page=number > 0)
    if sheet.height > caps.ROWS:
        yield Missing(f"Partly read: the first {caps.ROWS:,} of {sheet.height:,} rows of the sheet “{name}”.")
    if sheet.width > caps.COLUMNS:
        yield Missing(f"Partly read: the first {caps.COLUMNS:,} of {sheet.width:,} columns of the sheet “{name}”.")


def _chained(top: list[list[str]], others: Iterator[list[str]]) -> Iterator[list[str]]:
    yield from top
    yield from others


def _used_columns(sheet: Any, top: list[list[str]]) -> list[int]:
    """Those with something in the header or below it: what stands above is not looked at again."""
    used = {column for row in top for column, cell in enumerate(row) if cell}
    for row in islice(sheet.iter_rows(), _HEADER_AMONG, caps.ROWS):
        used.update(column for column, cell in enumerate(row[: caps.COLUMNS]) if cell not in ("", None))
    return sorted(used)


def _shown(cell: object) -> str:
    match cell:
        case bool():
            shown = "yes" if cell else "no"
        case float() if cell.is_integer() and abs(cell) < _EXACT_BELOW:
            shown = str(int(cell))
        case float():
            shown = f"{cell:.15g}"
        case datetime():
            shown = cell.isoformat(sep=" ", timespec="seconds").removesuffix(" 00:00:00")
        case _:
            shown = str(cell)
    return cell_text(shown)
