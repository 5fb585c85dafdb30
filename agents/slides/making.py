"""From a deck to its file and its pictures. Blocks: call it in a thread."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agents.slides.deck import Deck
from agents.slides.layout import pages_of
from agents.slides.pictures import picture
from agents.slides.powerpoint import powerpoint

_ACROSS: Final = 3
_SMALL: Final = (480, 270)
_GAP: Final = 10
# What XML has no way to say.
_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Made:
    """`slides`: how many there are, long ones counted as the several that they became. `overview`: all of them on one
    picture. `pictures`: one for each slide."""

    slides: int
    file: bytes = field(repr=False)
    overview: bytes = field(repr=False)
    pictures: tuple[bytes, ...] = field(repr=False)


def made(deck: Deck, images: Mapping[str, bytes], *, author: str) -> Made:
    """`images`: what the deck's slides name, as PNG or JPEG."""
    deck = Deck.model_validate(_writable(deck.model_dump()))
    pages = pages_of(deck)
    pictures = tuple(picture(page, images) for page in pages)
    return Made(
        slides=len(pages),
        file=powerpoint(pages, images, title=deck.title, author=author),
        overview=_overview(pictures),
        pictures=pictures,
    )


def _writable(value: Any) -> Any:
    """With a blank in the place of each sign that the file cannot hold."""
    match value:
        case str():
            return _UNWRITABLE.sub(" ", value)
        case dict():
            return {key: _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case _:
            return value


def _overview(pictures: tuple[bytes, ...]) -> bytes:
    from PIL import Image

    across = min(_ACROSS, len(pictures))
    down = -(-len(pictures) // across)
    width, height = _SMALL
    sheet = Image.new(
        "RGB", (across * (width + _GAP) + _GAP, down * (height + _GAP) + _GAP), "#8A94A3"
    )  # between the slides, light or dark
    for place, content in enumerate(pictures):
        with Image.open(io.BytesIO(content)) as opened:
            small = opened.resize(_SMALL, Image.Resampling.LANCZOS)
        left, top = place % across * (width + _GAP) + _GAP, place // across * (height + _GAP) + _GAP
        sheet.paste(small, (left, top))
    out = io.BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()
