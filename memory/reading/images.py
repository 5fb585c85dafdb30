"""A page of a PDF as people see it, and how many there are. Drawn and counted in a child process."""

from base64 import b64decode
from contextlib import closing
from pathlib import Path

from memory.reading import caps
from memory.reading.process import frames
from memory.reading.values import Unreadable


def page_count(path: Path) -> int:
    """Raises Unreadable."""
    request = {"do": "count", "path": str(path.absolute())}
    with closing(frames(request, size_bytes=path.stat().st_size)) as answers:
        for answer in answers:
            if isinstance(answer.get("pages"), int):
                return int(answer["pages"])
    raise Unreadable("broken", "The pages could not be counted.")


def page_image(path: Path, page: int, *, width: int) -> bytes:
    """PNG of page `page` (from 1), `width` pixels wide or as near as the caps allow. Raises Unreadable."""
    request = {"do": "draw", "path": str(path.absolute()), "page": page, "width": min(width, caps.IMAGE_WIDTH_MOST)}
    with closing(frames(request, size_bytes=path.stat().st_size)) as answers:
        for answer in answers:
            if isinstance(answer.get("png"), str):
                return b64decode(answer["png"])
    raise Unreadable("broken", "The page could not be drawn. Its text can be read all the same.")
