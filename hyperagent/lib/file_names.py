"""How long a file's name may be. Pure."""

import unicodedata
from typing import Final

NAME_BYTES: Final = 240
"""Disks take 255. A few are left for what is put behind a name that is taken, such as `-2`."""
_LONGEST_ENDING: Final = 20


def fitted(name: str, limit: int = NAME_BYTES) -> str:
    """A name in at most so many bytes of UTF-8, in NFC: its stem is cut between two characters, its ending stays."""
    name = unicodedata.normalize("NFC", name)
    if len(_bytes(name)) <= limit:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem or len(_bytes(ending)) > _LONGEST_ENDING:
        stem, dot, ending = name, "", ""
    room = limit - len(_bytes(dot + ending))
    return _bytes(stem)[:room].decode(errors="ignore").rstrip(" .") + dot + ending


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")
