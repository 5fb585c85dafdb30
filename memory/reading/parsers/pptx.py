"""PowerPoint: each slide a page with its title, its texts, tables and notes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pptx
from pptx.exc import PythonPptxError
from pptx.slide import Slide

from memory.kinds import BlockKind
from memory.reading import reasons
from memory.reading.containers import lighter, unpacking
from memory.reading.paging import Part
from memory.reading.tables import table_lines
from memory.reading.titles import sensible
from memory.reading.values import Head

_TEMPLATE_IS_OF: Final = "2013-01-27"
_GROUPS_DEEP: Final = 20


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
    except (PythonPptxError, ValueError, KeyError, SyntaxError, AttributeError, TypeError, IndexError) as error:
        raise reasons.broken("presentation", program="PowerPoint") from error


def _slide(slide: Slide, number: int) -> Iterator[Part]:
    """A slide without any text is a page all the same: the numbers must agree with PowerPoint's."""
    shape = slide.shapes.title
    title = " ".join(shape.text_frame.text.split()) if shape is not None else ""
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
    elif shape.has_text_frame:
        lines = [paragraph.text.strip() for paragraph in shape.text_frame.paragraphs]
        lines = [" ".join(line.split()) for line in lines if line]
        if len(lines) > 1:
            yield Part(BlockKind.LIST, "\n".join(f"- {line}" for line in lines), 0, page_title)
        elif lines:
            yield Part(BlockKind.PARAGRAPH, lines[0], 0, page_title)
