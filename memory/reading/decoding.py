"""Bytes to text, in the encoding that they are most likely in."""

from pathlib import Path
from typing import Final

from memory.reading import caps
from memory.reading.kinds import wide_encoding
from memory.reading.paging import Missing

_LOOKED_AT: Final = 256 * 1024


def text_of(path: Path, *, most: int = caps.TEXT_BYTES) -> tuple[str, list[Missing]]:
    """The text of a file, and what of it is missing."""
    with path.open("rb") as file:
        raw = file.read(most + 1)
    if len(raw) <= most:
        return decoded(raw), []
    return decoded(raw[:most]), [Missing(f"Partly read: the first {most // caps.MIB} MB; the rest is left out.")]


def decoded(raw: bytes) -> str:
    """Never fails: what fits nothing becomes U+FFFD."""
    return raw.decode(encoding_of(raw), errors="replace").removeprefix("\ufeff")


def encoding_of(raw: bytes) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    wide = wide_encoding(raw[:4096])
    if wide:
        return wide
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        # A letter that the end of what was read has cut in two is no fault.
        return "utf-8" if error.start >= len(raw) - 3 else _guessed(raw, error.start)
    return "utf-8"


def _guessed(raw: bytes, first_odd: int) -> str:
    """`first_odd`: where the first byte stands that is not UTF-8; it is worth looking at."""
    # One bad byte in a text that is UTF-8 otherwise is damage, and not another encoding.
    part = raw[max(0, first_odd - _LOOKED_AT // 2) : first_odd + _LOOKED_AT // 2]
    as_utf8 = part.decode("utf-8", errors="replace")
    if sum(byte >= 0x80 for byte in part) > 20 * as_utf8.count("\ufffd"):
        return "utf-8"
    from charset_normalizer import from_bytes  # late: it brings tables of every script

    best = from_bytes(part).best()
    return best.encoding if best else "cp1252"
