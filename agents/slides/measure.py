"""How wide text is, and how it breaks into lines: by a font of this machine, for the file and its picture alike."""

import unicodedata
from functools import cache
from typing import Any, Final

from hyperagent.lib.clipping import one_line

LINE: Final = 1.22
"""Height of a line, in sizes of its letters."""
GAP: Final = 0.42
"""Between two points, in sizes of their letters."""
INDENT: Final = 1.1
"""Of a point's text, in sizes of its letters."""
# The first that is there: what presentations use, or has the same widths. Without any, Pillow's own.
_NAMES: Final = {
    False: ("Carlito-Regular.ttf", "LiberationSans-Regular.ttf", "Arial.ttf", "DejaVuSans.ttf", "NotoSans-Regular.ttf"),
    True: ("Carlito-Bold.ttf", "LiberationSans-Bold.ttf", "Arial_Bold.ttf", "DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf"),
}
# Programs that show the file may have a wider font than this machine.
_SLACK: Final = 1.06


@cache
def font(pixels: int, *, bold: bool = False) -> Any:
    """A font of this height for Pillow, which is imported here, late."""
    from PIL import ImageFont

    for name in _NAMES[bold]:
        try:
            return ImageFont.truetype(name, pixels)
        except OSError:
            continue
    return ImageFont.load_default(pixels)


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """In points, as one line: a name in a chart may have several. Signs of East Asia are as wide as high; the font of
    this machine need not have them."""
    line = one_line(text)
    narrow = line if line.isascii() else "".join(sign for sign in line if not is_wide(sign))
    wide = (len(line) - len(narrow)) * 100
    return (float(font(100, bold=bold).getlength(narrow)) + wide) * size / 100 * _SLACK


def is_wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in ("W", "F")


def runs_left(text: str) -> bool:
    """Whether it is read from the right, as Arabic and Hebrew: its first letter says so."""
    kinds = (unicodedata.bidirectional(sign) for sign in text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"


def wrapped(text: str, size: float, width: float, *, bold: bool = False) -> tuple[str, ...]:
    """The lines that it takes in this width. A word that is too long is broken."""
    lines: list[str] = []
    line = ""
    for word in (piece for long in text.split() for piece in _pieces(long, size, width, bold)):
        tried = f"{line} {word}".strip()
        if line and width_of(tried, size, bold=bold) > width:
            lines.append(line)
            line = word
        else:
            line = tried
    return (*lines, line) if line else tuple(lines)


def _pieces(word: str, size: float, width: float, bold: bool) -> list[str]:
    if width_of(word, size, bold=bold) <= width:
        return [word]
    if any(map(is_wide, word)):
        return _by_signs(word, size, width, bold)
    most = max(1, int(len(word) * width / width_of(word, size, bold=bold)) - 1)
    return [word[start : start + most] for start in range(0, len(word), most)]


def _by_signs(word: str, size: float, width: float, bold: bool) -> list[str]:
    """Where some are wide and some are not."""
    pieces, room = [""], width
    for sign in word:
        taken = width_of(sign, size, bold=bold)
        if taken > room and pieces[-1]:
            pieces.append("")
            room = width
        pieces[-1] += sign
        room -= taken
    return pieces


def height_of(lines: tuple[str, ...], size: float, width: float, *, bold: bool = False, bullets: bool = False) -> float:
    """What these lines or points take in this width, in points."""
    room = width - INDENT * size if bullets else width
    count = sum(max(1, len(wrapped(line, size, room, bold=bold))) for line in lines)
    return count * LINE * size + (len(lines) - 1) * GAP * size * bullets


def fitting(
    lines: tuple[str, ...],
    width: float,
    height: float,
    *,
    most: float,
    least: float,
    bold: bool = False,
    bullets: bool = False,
) -> float | None:
    """The largest size of letters at which all of it fits; None if it does not even at the least."""
    size = most
    while size >= least:
        if height_of(lines, size, width, bold=bold, bullets=bullets) <= height:
            return size
        size -= 1
    return None
