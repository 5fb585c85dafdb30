"""Draws a page of a PDF, and counts them."""

import math
from base64 import b64encode
from io import BytesIO
from pathlib import Path

from memory.reading import caps, reasons
from memory.reading.parsers.pdf import opened


def pages_in(path: Path) -> int:
    """Raises Unreadable."""
    return len(opened(path))


def png_of(path: Path, number: int, *, width: int) -> str:
    """PNG in base64. Raises Unreadable."""
    document = opened(path)
    if not 1 <= number <= len(document):
        raise reasons.no_such_page(number, len(document))
    page = document[number - 1]
    page_width, page_height = page.get_size()
    scale = max(1, width) / max(1.0, page_width)
    pixels = scale * page_width * scale * page_height
    if pixels > caps.IMAGE_PIXELS_MOST:
        scale *= math.sqrt(caps.IMAGE_PIXELS_MOST / pixels)
    image = page.render(scale=scale).to_pil()
    png = BytesIO()
    image.convert("RGB").save(png, "PNG", compress_level=3)
    return b64encode(png.getvalue()).decode()
