"""As what a browser may show a file from our own address, told by its bytes; everything else is only saved. Pure."""

from typing import Final

from memory.reading.decoding import encoding_of
from memory.workspaces.texts import text_in

HEAD_BYTES: Final = 8192
PDF: Final = "application/pdf"
# What a browser would run, whatever its first bytes look like.
_RUN: Final = ("html", "svg", "xml", "xslt")
_PICTURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# What Python calls otherwise than browsers do.
_LABELS: Final = {
    "utf_8_sig": "utf-8", "utf_16_le": "utf-16le", "utf_16_be": "utf-16be", "cp932": "shift_jis", "cp949": "euc-kr",
}  # fmt: skip
# All that `shown_as` gives.
SHOWN: Final = (PDF, *dict.fromkeys(picture for _, picture in _PICTURES), "image/webp", "text/plain")


def shown_as(head: bytes, media_type: str) -> str | None:
    """The type under which it is harmless; None if it is not to be shown. `media_type`: what its name says it is."""
    if any(word in media_type for word in _RUN):
        return None
    for mark, picture in _PICTURES:
        if head.startswith(mark):
            return picture
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"%PDF-"):
        return PDF
    if media_type.startswith(("image/", "audio/", "video/")) or text_in(head) is None:
        return None
    return f"text/plain; charset={_label_of(encoding_of(head))}"


def _label_of(encoding: str) -> str:
    """As browsers call it."""
    return _LABELS.get(encoding.replace("-", "_"), encoding.replace("_", "-"))
