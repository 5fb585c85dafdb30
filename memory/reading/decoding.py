"""Bytes to text, in the encoding that they are most likely in."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

from hyperagent.lib.text import text_encoding
from memory.reading import caps
from memory.reading.kinds import wide_encoding
from memory.reading.paging import Missing

_LOOKED_AT: Final = 256 * 1024
# As cp1252 has them.
_LETTERS: Final = "À-ÖØ-öø-ÿŠšŒœŽžŸ"
_LARGE: Final = "À-ÖØ-ÞŠŒŽŸ"
# What no word of a Western language has: three letters with accents in a row, a large one after a small one, a sign
# between letters, a byte that stands for nothing. Words of other scripts, and those of DOS and of old Macs, are full
# of it.
_STRANGE: Final = re.compile(
    rf"[{_LETTERS}]{{3,}}|(?<=[a-zß-öø-ÿ])[{_LARGE}]|"
    rf"(?<=[A-Za-z{_LETTERS}])[^\x00-\x7f{_LETTERS}’–—·\xa0\xad]+(?=[A-Za-z{_LETTERS}])|\ufffd+"
)
_STRANGE_MOST: Final = 0.1
"""Of all that is not ASCII."""
_ALPHABETS: Final = (
    ("cp1252", "äöüß"), ("cp1252", "àâæçèéêëîïôœùûüÿ"), ("cp1252", "áéíñóúü"), ("cp1252", "àèéìíîòóùú"),
    ("cp1252", "àáâãçéêíóôõúü"), ("cp1252", "áèéëíïóöü"), ("cp1252", "åæéêòóôø"), ("cp1252", "àåäéöšž"),
    ("cp1252", "áæéíðóöúýþ"), ("cp1252", "àçèéíïòóúü"),
    ("cp1250", "áčďéěíňóřšťúůýž"), ("cp1250", "áäčďéíĺľňóôŕšťúýž"), ("cp1250", "áéíóöőúüű"), ("cp1250", "ăâîşţ"),
    ("cp1250", "čćđšž"), ("cp1250", "ąćęłńóśźż"), ("cp1254", "âçğîıöşûü"),
    ("cp1257", "ąčęėįšųūž"), ("cp1257", "āčēģīķļņšūž"), ("cp1257", "äõöšüž"),
)  # fmt: skip
"""What a language has beside a to z, and the encoding that its texts are in; of two that fit alike the first."""


def text_of(
    path: Path, *, most: int = caps.TEXT_BYTES, saying: re.Pattern[bytes] | None = None
) -> tuple[str, list[Missing]]:
    """The text of a file, and what of it is missing. `saying`: finds at its beginning which encoding it names."""
    with path.open("rb") as file:
        raw = file.read(most + 1)
    said = saying.search(raw[:4096]) if saying is not None else None
    name = said[1].decode("ascii", errors="replace") if said else ""
    if len(raw) <= most:
        return decoded(raw, said=name), []
    missing = Missing(f"Partly read: the first {most // caps.MIB} MB; the rest is left out.")
    return decoded(raw[:most], said=name), [missing]


def decoded(raw: bytes, *, said: str = "") -> str:
    """Never fails: what fits nothing becomes U+FFFD. `said`: the encoding that it says to be in."""
    return raw.decode(encoding_of(raw, said=said), errors="replace").removeprefix("\ufeff")


def encoding_of(raw: bytes, *, said: str = "") -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    wide = wide_encoding(raw[:4096])
    if wide:
        return wide
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        # A letter that the end of what was read has cut in two is no fault, if there are others that are UTF-8.
        is_cut = error.end == len(raw) and "end of data" in error.reason and not raw[: error.start].isascii()
        return "utf-8" if is_cut else meant_by(said) or _guessed(raw, error.start)
    return "utf-8"


def meant_by(name: str) -> str:
    """Python's name of the encoding that a text is in that says this of itself and is no UTF-8; empty if that tells
    nothing."""
    known = text_encoding(name)
    return "" if known.startswith("utf") else known


def _guessed(raw: bytes, first_odd: int) -> str:
    """`first_odd`: where the first byte stands that is not UTF-8; it is worth looking at."""
    # One bad byte in a text that is UTF-8 otherwise is damage, and not another encoding.
    part = raw[max(0, first_odd - _LOOKED_AT // 2) : first_odd + _LOOKED_AT // 2]
    as_utf8 = part.decode("utf-8", errors="replace")
    if sum(byte >= 0x80 for byte in part) > 20 * as_utf8.count("\ufffd"):
        return "utf-8"
    if _is_western(part.decode("cp1252", errors="replace")):
        return _by_letters(part)
    from charset_normalizer import from_bytes  # late: it brings tables of every script

    best = from_bytes(part).best()
    return best.encoding if best else "cp1252"


def _is_western(text: str) -> bool:
    strange = sum(map(len, _STRANGE.findall(text)))
    return strange <= _STRANGE_MOST * sum(sign > "\x7f" for sign in text)


def _by_letters(part: bytes) -> str:
    counted = {encoding: _odd_letters(part, encoding) for encoding, _ in _ALPHABETS}

    def fitting(one: tuple[str, str]) -> float:
        encoding, alphabet = one
        letters = counted[encoding]
        return sum(letters[letter] for letter in alphabet) / max(1, letters.total())

    return max(_ALPHABETS, key=fitting)[0]


def _odd_letters(part: bytes, encoding: str) -> Counter[str]:
    text = part.decode(encoding, errors="replace").lower()
    return Counter(letter for letter in text if letter > "\x7f" and letter.isalpha())
