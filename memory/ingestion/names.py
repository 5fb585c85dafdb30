"""What a file may be called here. Pure. A name is only ever shown: no path is made of it."""

import re
import unicodedata
from typing import Final

from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import clean_text

LIMIT: Final = 255
UNNAMED: Final = "document"
# They turn the writing around, so that `exe.fdp` is read as a PDF. Joiners stay: emoji are made with them.
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_ENDING: Final = 20


def clean_filename(name: str) -> str:
    """The last part of a path in either way of writing, without what cannot be seen, at most 255 characters; its
    ending stays where it has to be cut. Never empty."""
    last = re.split(r"[/\\]", clean_text(name).rstrip("/\\ "))[-1]
    shown = clean_line(_TURNING.sub("", last))
    if not shown.strip("."):
        return UNNAMED
    if len(shown) <= LIMIT:
        return shown
    stem, dot, ending = shown.rpartition(".")
    if not stem or len(ending) > _LONGEST_ENDING:
        return shown[:LIMIT]
    return stem[: LIMIT - len(ending) - 1] + dot + ending


def clean_line(text: str) -> str:
    """One line that can be stored and shown, at most 255 characters are for the caller to cut."""
    kept = (" " if unicodedata.category(sign) in ("Cc", "Zl", "Zp") else sign for sign in clean_text(text))
    return one_line(unicodedata.normalize("NFC", "".join(kept)))
