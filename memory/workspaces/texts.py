"""Whether bytes are a text, and which. Pure."""

from typing import Final

from memory.reading.decoding import decoded
from memory.reading.kinds import wide_encoding

_LOOKED_AT: Final = 8192
_MOST_CONTROLS: Final = 0.02
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


def text_in(content: bytes) -> str | None:
    """In the encoding that it is most likely in; None for what is no text, such as a picture or an archive."""
    head = content[:_LOOKED_AT]
    if wide_encoding(head[:4096]):
        return decoded(content)
    if b"\0" in head or head.startswith(b"%PDF-"):
        return None
    if sum(byte in _CONTROLS for byte in head) > _MOST_CONTROLS * len(head):
        return None
    return decoded(content)
