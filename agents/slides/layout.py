"""Where everything of a deck stands. Text that does not fit at a readable size goes on to another slide. Pure but for
the measure of the letters."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from agents.slides.deck import Deck, Slide
from agents.slides.measure import fitting, height_of
from agents.slides.shapes import HEIGHT, WIDTH, Block, Box, Drawing, Page, Picture, Shape, Table, Text
from agents.slides.themes import THEMES, Theme

MARGIN: Final = 60.0
TITLE_TOP: Final = 36.0
TITLE_HEIGHT: Final = 76.0
BODY_TOP: Final = 136.0
BODY: Final = Box(MARGIN, BODY_TOP, WIDTH - 2 * MARGIN, HEIGHT - BODY_TOP - 52)
MOST_SIZE, LEAST_SIZE = 26.0, 16.0
LEAST_IN_COLUMN: Final = 14.0
PANEL_GAP, PANEL_INSET = 28.0, 22.0
CONTINUED: Final = " (continued)"


def pages_of(deck: Deck) -> tuple[Page, ...]:
    """Each slide laid out; a long one becomes several."""
    theme = THEMES[deck.theme]
    pages = [page for slide in deck.slides for page in _pages(slide, theme)]
    return tuple(
        replace(page, number=number, shapes=(*page.shapes, *_foot(page, deck, theme, number)))
        for number, page in enumerate(pages, start=1)
    )


def _pages(slide: Slide, theme: Theme) -> Iterator[Page]:
    if slide.kind in ("title", "section", "closing"):
        yield _cover(slide, theme)
    elif slide.kind == "quote":
        yield _quote(slide, theme)
    elif slide.kind == "bullets":
        yield from _bullets(slide, theme)
    elif slide.kind == "columns":
        yield from _columns(slide, theme)
    else:
        body = {"chart": _chart, "table": _table, "image": _image}[slide.kind]
        yield Page(slide.title, theme.ground, (*_title(slide.title, theme), *body(slide, theme)), slide.notes)


def _title(title: str, theme: Theme) -> tuple[Shape, ...]:
    box = Box(MARGIN, TITLE_TOP, WIDTH - 2 * MARGIN, TITLE_HEIGHT)
    size = fitting((title,), box.width, box.height, most=34, least=18, bold=True) or 18
    return (
        Text(box, (title,), size, theme.text, bold=True, anchor="bottom", is_title=True),
        Block(Box(MARGIN, TITLE_TOP + TITLE_HEIGHT + 7, 54, 4), theme.accent),
    )


def _foot(page: Page, deck: Deck, theme: Theme, number: int) -> tuple[Shape, ...]:
    if page.ground == theme.cover:
        return ()
    line = Box(MARGIN, HEIGHT - 34, WIDTH - 2 * MARGIN, 16)
    return (
        Text(replace(line, width=line.width - 60), (deck.title,), 10, theme.muted, anchor="middle"),
        Text(
            replace(line, left=line.right - 50, width=50),
            (str(number),),
            10,
            theme.muted,
            align="right",
            anchor="middle",
        ),
    )


def _cover(slide: Slide, theme: Theme) -> Page:
    box = Box(90, 130, WIDTH - 180, 170)
    size = fitting((slide.title,), box.width, box.height, most=54, least=26, bold=True) or 26
    shapes: list[Shape] = [
        Block(Box(0, 0, 14, HEIGHT), theme.accent),
        Text(box, (slide.title,), size, theme.on_cover, bold=True, anchor="bottom", is_title=True),
        Block(Box(90, 318, 72, 5), theme.accent),
    ]
    if slide.subtitle:
        under = Box(90, 338, WIDTH - 180, 120)
        small = fitting((slide.subtitle,), under.width, under.height, most=24, least=14) or 14
        shapes.append(Text(under, (slide.subtitle,), small, theme.on_cover_muted))
    return Page(slide.title, theme.cover, tuple(shapes), slide.notes)


def _quote(slide: Slide, theme: Theme) -> Page:
    box = Box(130, 110, WIDTH - 260, 260)
    said = f"\u201c{slide.quote}\u201d"
    size = fitting((said,), box.width, box.height, most=36, least=16) or 16
    by = slide.subtitle or slide.title
    shapes = (
        Block(Box(96, 120, 6, 250), theme.accent),
        Text(box, (said,), size, theme.text, italic=True, anchor="middle", is_title=True),
        Text(Box(130, 390, WIDTH - 260, 40), (f"\u2014 {by}",), 18, theme.muted, align="right"),
    )
    return Page(slide.title, theme.ground, shapes, slide.notes)


def _bullets(slide: Slide, theme: Theme) -> Iterator[Page]:
    """As many slides as the points take at a readable size, about the same number on each."""
    for place, points in enumerate(_shared_out(slide.points, BODY.width, BODY.height, LEAST_SIZE)):
        title = slide.title + CONTINUED * (place > 0)
        size = fitting(points, BODY.width, BODY.height, most=MOST_SIZE, least=LEAST_SIZE, bullets=True) or LEAST_SIZE
        points_shape = Text(BODY, points, size, theme.text, bullets=True, mark=theme.accent)
        yield Page(slide.title, theme.ground, (*_title(title, theme), points_shape), slide.notes if place == 0 else "")


def _shared_out(points: tuple[str, ...], width: float, height: float, least: float) -> list[tuple[str, ...]]:
    for count in range(1, len(points) + 1):
        each = -(-len(points) // count)
        parts = [points[start : start + each] for start in range(0, len(points), each)]
        if all(height_of(part, least, width, bullets=True) <= height for part in parts):
            return parts
    return [(point,) for point in points]


def _columns(slide: Slide, theme: Theme) -> Iterator[Page]:
    """As many slides as the longer column takes at a size that can be read."""
    room = _within_panel(slide)
    parts = [_shared_out(column, room.width, room.height, LEAST_IN_COLUMN) for column in (slide.left, slide.right)]
    for place, (left, right) in enumerate(zip_longest(*parts, fillvalue=())):
        title = slide.title + CONTINUED * (place > 0)
        shapes = (*_title(title, theme), *_panels(slide, left, right, theme))
        yield Page(slide.title, theme.ground, shapes, slide.notes if place == 0 else "")


def _within_panel(slide: Slide) -> Box:
    """Where the points of the left column stand."""
    top = PANEL_INSET + (36 if slide.left_heading or slide.right_heading else 0)
    width = (BODY.width - PANEL_GAP) / 2 - 2 * PANEL_INSET
    return Box(BODY.left + PANEL_INSET, BODY.top + top, width, BODY.height - top - PANEL_INSET)


def _panels(slide: Slide, left: tuple[str, ...], right: tuple[str, ...], theme: Theme) -> tuple[Shape, ...]:
    """Two panels beside each other, these points in them of one size."""
    room = _within_panel(slide)
    width = room.width + 2 * PANEL_INSET
    sizes = [
        fitting(points, room.width, room.height, most=22, least=LEAST_IN_COLUMN, bullets=True) or LEAST_IN_COLUMN
        for points in (left, right)
        if points
    ]
    shapes: list[Shape] = []
    for place, (heading, points) in enumerate(((slide.left_heading, left), (slide.right_heading, right))):
        across = place * (width + PANEL_GAP)
        shapes.append(Block(Box(BODY.left + across, BODY.top, width, BODY.height), theme.panel))
        inside = replace(room, left=room.left + across)
        if heading:
            box = Box(inside.left, BODY.top + PANEL_INSET - 4, room.width, 30)
            size = fitting((heading,), box.width, box.height, most=20, least=11, bold=True) or 11
            shapes.append(Text(box, (heading,), size, theme.accent, bold=True, anchor="middle"))
        if points:
            shapes.append(Text(inside, points, min(sizes), theme.text, bullets=True, mark=theme.accent))
    return tuple(shapes)


def _with_caption(slide: Slide, theme: Theme) -> tuple[Box, tuple[Shape, ...]]:
    """The room that is left, and the line of the caption."""
    if not slide.caption:
        return BODY, ()
    line = Box(BODY.left, BODY.bottom - 22, BODY.width, 22)
    size = fitting((slide.caption,), line.width, line.height, most=14, least=9) or 9
    return replace(BODY, height=BODY.height - 30), (Text(line, (slide.caption,), size, theme.muted, anchor="bottom"),)


def _chart(slide: Slide, theme: Theme) -> tuple[Shape, ...]:
    room, caption = _with_caption(slide, theme)
    if slide.chart is None:
        return caption
    return (Drawing(room, slide.chart, theme.series, theme.text, theme.rule), *caption)


def _image(slide: Slide, theme: Theme) -> tuple[Shape, ...]:
    room, caption = _with_caption(slide, theme)
    return (Picture(room, slide.image, slide.caption or slide.title), *caption)


def _table(slide: Slide, theme: Theme) -> tuple[Shape, ...]:
    room, caption = _with_caption(slide, theme)
    rows, columns = slide.table, len(slide.table[0])
    height = min(room.height / len(rows), 46.0)
    width = room.width / columns - 16
    cells = [(cell,) for row in rows for cell in row if cell]
    size = min((fitting(cell, width, height - 8, most=18, least=8) or 8 for cell in cells), default=14)
    box = replace(room, height=height * len(rows))
    table = Table(
        box,
        rows,
        size,
        head=theme.accent,
        on_head=theme.ground,
        text=theme.text,
        ground=theme.ground,
        stripe=theme.panel,
    )
    return (table, *caption)
