"""Titles that files carry about themselves, which are often none. Pure."""

import re
from pathlib import PurePath
from typing import Final

from memory.reading.cleaning import one_line

_NO_TITLE: Final = re.compile(
    r"microsoft (?:word|powerpoint|excel)\b.*|untitled.*|(?:document|presentation|dokument|slide|title)\s*\d*|"
    r".*\.(?:docx?|pptx?|xlsx?|pdf|html?|indd|tex|rtf|txt)",
    re.IGNORECASE,
)


def sensible(title: str, filename: str) -> str:
    """The title, or "" if it is a program's invention, a number, or the file's own name again."""
    title = one_line(title)[:255]
    letters = sum(letter.isalpha() for letter in title)
    if letters < 3 or letters * 3 < len(title) or _NO_TITLE.fullmatch(title):
        return ""
    return "" if title.casefold() == PurePath(filename).stem.casefold() else title
