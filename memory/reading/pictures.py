"""A picture that somebody gave, as a model may look at it. Opened in a child process, which is trusted with nothing."""

from base64 import b64decode
from binascii import Error as NoBase64
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory.reading import reasons
from memory.reading.process import frames


@dataclass(frozen=True, slots=True)
class Picture:
    """`kind`: PNG, JPEG, WEBP or GIF, as the file is; `width`, `height`: of the file. `media_type`, `content`: of the
    picture in the size that was asked for."""

    kind: str
    width: int
    height: int
    media_type: str
    content: bytes = field(repr=False)


def picture_of(path: Path, *, longest: int) -> Picture:
    """`longest`: pixels of the longer side at most. Blocks. Raises Unreadable."""
    request = {"do": "picture", "path": str(path.absolute()), "longest": longest}
    with closing(frames(request, size_bytes=path.stat().st_size)) as answers:
        for answer in answers:
            return _picture(answer.get("picture"))
    raise reasons.reader_died()


def _picture(said: Any) -> Picture:
    try:
        return Picture(
            kind=str(said["kind"]),
            width=int(said["width"]),
            height=int(said["height"]),
            media_type=str(said["media_type"]),
            content=b64decode(said["content"], validate=True),
        )
    except (KeyError, TypeError, ValueError, NoBase64):
        raise reasons.reader_died() from None
