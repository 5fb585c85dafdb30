"""A laid out slide as a picture (PNG), for who looks before they open the file. Imports Pillow late."""

import io
import math
from collections.abc import Mapping
from typing import Any, Final

from agents.slides.measure import GAP, INDENT, LINE, font, runs_left, width_of, wrapped
from agents.slides.shapes import HEIGHT, WIDTH, Block, Box, Drawing, Page, Picture, Table, Text

PIXELS_A_POINT: Final = 4 / 3
MEDIA_TYPE: Final = "image/png"


def picture(page: Page, images: Mapping[str, bytes]) -> bytes:
    """1280 by 720 pixels."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (_px(WIDTH), _px(HEIGHT)), f"#{page.ground}")
    draw = ImageDraw.Draw(image)
    for shape in page.shapes:
        match shape:
            case Block():
                _rectangle(draw, shape.box, shape.colour)
            case Text():
                _text(draw, shape)
            case Table():
                _table(draw, shape)
            case Drawing():
                _chart(draw, shape)
            case Picture():
                _image(image, shape, images)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _px(points: float) -> int:
    return round(points * PIXELS_A_POINT)


def _rectangle(draw: Any, box: Box, colour: str) -> None:
    """Nothing where it has no pixel, as the bar of a 0: Pillow takes no such rectangle."""
    left, top, right, bottom = _px(box.left), _px(box.top), _px(box.right) - 1, _px(box.bottom) - 1
    if left <= right and top <= bottom:
        draw.rectangle((left, top, right, bottom), fill=f"#{colour}")


def _text(draw: Any, text: Text) -> None:
    """Lines, or points with their marks, from where their anchor lets them begin."""
    indent = INDENT * text.size if text.bullets else 0
    points = [wrapped(line, text.size, text.box.width - indent, bold=text.bold) or ("",) for line in text.lines]
    high = sum(map(len, points)) * LINE * text.size + (len(points) - 1) * GAP * text.size * text.bullets
    top = text.box.top + {"top": 0.0, "middle": 0.5, "bottom": 1.0}[text.anchor] * max(0.0, text.box.height - high)
    for point, lines in zip(text.lines, points, strict=True):
        # What is read from the right begins there.
        turned = runs_left(point)
        aligned = "right" if turned and text.align == "left" else text.align
        if text.bullets:
            _mark(draw, text, top, turned=turned)
        left = text.box.left if turned else text.box.left + indent
        for line in lines:
            _line(draw, line, text, aligned=aligned, left=left, top=top, width=text.box.width - indent)
            top += LINE * text.size
        top += GAP * text.size * text.bullets


def _mark(draw: Any, text: Text, top: float, *, turned: bool) -> None:
    size = text.size * 0.26
    left = text.box.right - text.size * 0.15 - size if turned else text.box.left + text.size * 0.15
    middle = top + text.size * 0.62
    draw.ellipse((_px(left), _px(middle - size / 2), _px(left + size), _px(middle + size / 2)), fill=f"#{text.mark}")


def _line(draw: Any, line: str, text: Text, *, aligned: str, left: float, top: float, width: float) -> None:
    used = font(_px(text.size), bold=text.bold)
    free = width - used.getlength(line) / PIXELS_A_POINT
    left += {"left": 0.0, "center": 0.5, "right": 1.0}[aligned] * max(0.0, free)
    draw.text((_px(left), _px(top)), line, font=used, fill=f"#{text.colour}")


def _table(draw: Any, table: Table) -> None:
    height, width = table.box.height / len(table.rows), table.box.width / len(table.rows[0])
    for row_number, row in enumerate(table.rows):
        ground = table.head if row_number == 0 else table.stripe if row_number % 2 == 0 else table.ground
        top = table.box.top + row_number * height
        _rectangle(draw, Box(table.box.left, top, table.box.width, height), ground)
        for column, cell in enumerate(row):
            box = Box(table.box.left + column * width + 8, top, width - 16, height)
            colour = table.on_head if row_number == 0 else table.text
            _text(draw, Text(box, (cell,), table.size, colour, bold=row_number == 0, anchor="middle"))


def _image(onto: Any, shape: Picture, images: Mapping[str, bytes]) -> None:
    from PIL import Image

    content = images.get(shape.path)
    if content is None:
        return
    with Image.open(io.BytesIO(content)) as opened:
        drawn = opened.convert("RGBA")
    scale = min(_px(shape.box.width) / drawn.width, _px(shape.box.height) / drawn.height)
    drawn = drawn.resize((max(1, round(drawn.width * scale)), max(1, round(drawn.height * scale))))
    left = _px(shape.box.left) + (_px(shape.box.width) - drawn.width) // 2
    top = _px(shape.box.top) + (_px(shape.box.height) - drawn.height) // 2
    onto.paste(drawn, (left, top), drawn)


# --- charts


def _chart(draw: Any, drawing: Drawing) -> None:
    if drawing.chart.kind == "pie":
        _pie(draw, drawing)
        return
    legend = 26.0 if len(drawing.chart.series) > 1 else 0.0
    scale = ticks([value for series in drawing.chart.series for value in series.values])
    labels = [f"{tick:,.10g}" for tick in scale]
    left = drawing.box.left + max(width_of(label, drawing.size) for label in labels) + 10
    field = Box(left, drawing.box.top + 8, drawing.box.right - left, drawing.box.height - 36 - legend)
    for tick, label in zip(scale, labels, strict=True):
        level = _level(tick, scale, field)
        draw.line((_px(field.left), _px(level), _px(field.right), _px(level)), fill=f"#{drawing.rule}", width=1)
        box = Box(drawing.box.left, level - 9, left - drawing.box.left - 8, 18)
        _text(draw, Text(box, (label,), drawing.size, drawing.text, align="right", anchor="middle"))
    _categories(draw, drawing, field)
    (_bars if drawing.chart.kind == "bar" else _lines)(draw, drawing, field, scale)
    if legend:
        names = [series.name for series in drawing.chart.series]
        _legend(draw, drawing, names, top=drawing.box.bottom - 20)


def ticks(values: list[float]) -> list[float]:
    """Round figures from at most 0, or the least, to at least the greatest: four to eight of them."""
    least, most = min(0.0, *values), max(0.0, *values)
    if least == most:
        most = least + 1
    rough = (most - least) / 5
    exponent = math.floor(math.log10(rough))
    power = 10.0**exponent
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    first, last = math.floor(least / step), math.ceil(most / step)
    return [round(number * step, max(10, 2 - exponent)) for number in range(first, last + 1)]


def _level(value: float, scale: list[float], field: Box) -> float:
    return field.bottom - (value - scale[0]) / (scale[-1] - scale[0]) * field.height


def _categories(draw: Any, drawing: Drawing, field: Box) -> None:
    """As many of the names as have room."""
    names = drawing.chart.categories
    slot = field.width / len(names)
    widest = max(width_of(name, drawing.size) for name in names) + 8
    every = max(1, math.ceil(min(widest, 120) / slot))
    for place in range(0, len(names), every):
        lines = wrapped(names[place], drawing.size, slot * every) or ("",)
        box = Box(field.left + slot * (place + 0.5) - slot * every / 2, field.bottom + 6, slot * every, 18)
        _text(draw, Text(box, lines[:1], drawing.size, drawing.text, align="center"))


def _bars(draw: Any, drawing: Drawing, field: Box, scale: list[float]) -> None:
    slot = field.width / len(drawing.chart.categories)
    width = slot * 0.62 / len(drawing.chart.series)
    for number, series in enumerate(drawing.chart.series):
        for place, value in enumerate(series.values):
            left = field.left + slot * (place + 0.19) + width * number
            upper, lower = sorted((_level(value, scale, field), _level(0, scale, field)))
            _rectangle(
                draw, Box(left, upper, max(1, width - 1), lower - upper), drawing.colours[number % len(drawing.colours)]
            )


def _lines(draw: Any, drawing: Drawing, field: Box, scale: list[float]) -> None:
    slot = field.width / len(drawing.chart.categories)
    for number, series in enumerate(drawing.chart.series):
        colour = f"#{drawing.colours[number % len(drawing.colours)]}"
        points = [
            (_px(field.left + slot * (place + 0.5)), _px(_level(value, scale, field)))
            for place, value in enumerate(series.values)
        ]
        draw.line(points, fill=colour, width=4, joint="curve")
        for across, down in points:
            draw.ellipse((across - 5, down - 5, across + 5, down + 5), fill=colour)


def _pie(draw: Any, drawing: Drawing) -> None:
    values, whole = drawing.chart.series[0].values, sum(drawing.chart.series[0].values) or 1
    side = min(drawing.box.width, drawing.box.height - 40)
    left, top = drawing.box.left + (drawing.box.width - side) / 2, drawing.box.top
    frame = (_px(left), _px(top), _px(left + side), _px(top + side))
    angle = -90.0
    for place, value in enumerate(values):
        sweep = value / whole * 360
        draw.pieslice(frame, angle, angle + sweep, fill=f"#{drawing.colours[place % len(drawing.colours)]}")
        angle += sweep
    shares = [f"{name} {value / whole:.0%}" for name, value in zip(drawing.chart.categories, values, strict=True)]
    _legend(draw, drawing, shares, top=drawing.box.bottom - 24)


def _legend(draw: Any, drawing: Drawing, names: list[str], *, top: float) -> None:
    room = drawing.box.width / len(names)
    wide = [min(room, width_of(name, drawing.size) + 34) for name in names]
    left = drawing.box.left + (drawing.box.width - sum(wide)) / 2
    for place, (name, width) in enumerate(zip(names, wide, strict=True)):
        _rectangle(draw, Box(left, top + 4, 11, 11), drawing.colours[place % len(drawing.colours)])
        shown = wrapped(name, drawing.size, width - 20) or ("",)
        _text(draw, Text(Box(left + 17, top, width - 17, 18), shown[:1], drawing.size, drawing.text, anchor="middle"))
        left += width
