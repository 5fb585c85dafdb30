"""PowerPoint: each slide a page with its title, its texts, tables, the figures of its charts, and notes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pptx
from pptx.exc import PythonPptxError
from pptx.slide import Slide

from hyperagent.lib.clipping import one_line
from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.containers import lighter, unpacking
from memory.reading.paging import Part
from memory.reading.tables import table_lines
from memory.reading.titles import sensible
from memory.reading.values import Head

_TEMPLATE_IS_OF: Final = "2013-01-27"
_GROUPS_DEEP: Final = 20
# What python-pptx and lxml raise for a presentation that is not as it should be.
_NOT_AS_IT_SHOULD_BE: Final = (
    PythonPptxError, ValueError, KeyError, SyntaxError, AttributeError, TypeError, IndexError,
)  # fmt: skip


def parts(path: Path, *, filename: str) -> Iterator[Head | Part]:
    with unpacking(path, "pptx") as container:
        light = lighter(container)
    try:
        slides = pptx.Presentation(light)
        told = slides.core_properties
        created = told.created.date().isoformat() if told.created else ""
        yield Head(0, sensible(told.title or "", filename), {"created": "" if created == _TEMPLATE_IS_OF else created})
        for number, slide in enumerate(slides.slides, 1):
            yield from _slide(slide, number)
    except _NOT_AS_IT_SHOULD_BE as error:
        raise reasons.broken("presentation", program="PowerPoint") from error


def _slide(slide: Slide, number: int) -> Iterator[Part]:
    """A slide without any text is a page all the same: the numbers must agree with PowerPoint's."""
    shape = slide.shapes.title
    title = one_line(shape.text_frame.text) if shape is not None else ""
    page_title = title or f"Slide {number}"
    yield Part(BlockKind.HEADING, title, 1, page_title, new_page=True)
    for other in _shapes(slide.shapes, 0):
        if shape is None or other.shape_id != shape.shape_id:
            yield from _shape(other, page_title)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield Part(BlockKind.PARAGRAPH, f"Notes: {notes}", 0, page_title)


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _GROUPS_DEEP:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _shape(shape: Any, page_title: str) -> Iterator[Part]:
    if getattr(shape, "has_table", False):
        lines = table_lines([[cell.text for cell in row.cells] for row in shape.table.rows])
        if lines:
            yield Part(BlockKind.TABLE, "\n".join(lines), 0, page_title)
    elif getattr(shape, "has_chart", False):
        try:
            yield from list(_chart(shape.chart, page_title))
        except _NOT_AS_IT_SHOULD_BE:
            return  # The slides can be read without it.
    elif shape.has_text_frame:
        lines = [paragraph.text.strip() for paragraph in shape.text_frame.paragraphs]
        lines = [one_line(line) for line in lines if line]
        if len(lines) > 1:
            yield Part(BlockKind.LIST, "\n".join(f"- {line}" for line in lines), 0, page_title)
        elif lines:
            yield Part(BlockKind.PARAGRAPH, lines[0], 0, page_title)


def _chart(chart: Any, page_title: str) -> Iterator[Part]:
    """What it draws, as a table: a row for each category, a column for each series."""
    title = one_line(chart.chart_title.text_frame.text) if chart.has_title else ""
    if title:
        yield Part(BlockKind.PARAGRAPH, title, 0, page_title)
    for plot in chart.plots:
        names, series = [str(name) for name in plot.categories], list(plot.series)[: caps.COLUMNS]
        values = [list(one.values) for one in series]
        rows = [[name, *(_figure(some, at) for some in values)] for at, name in enumerate(names[: caps.ROWS])]
        if rows:
            lines = table_lines([["", *(one.name for one in series)], *rows])
            yield Part(BlockKind.TABLE, "\n".join(lines), 0, page_title)


def _figure(values: list[Any], at: int) -> str:
    value = values[at] if at < len(values) else None
    return "" if value is None else f"{value:.15g}"
