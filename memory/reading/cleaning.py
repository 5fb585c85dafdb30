"""Text as files have it, made into text as people write it: one line feed, no ligatures, nothing invisible. Pure."""

import re
from typing import Final

from hyperagent.lib import clipping
from hyperagent.lib.text import clean_text

_SPACES: Final = "\t\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE: Final = "\u00ad\u200b\u2060\ufeff\ufffe\uffff"
_AS_WRITTEN: Final = str.maketrans({
    **{chr(0xFB00 + index): letters for index, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))},
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_INVISIBLE, ""),
    **dict.fromkeys(map(chr, (*range(1, 9), *range(14, 32), *range(127, 160))), " "),
    "\f": "\n",
})  # fmt: skip
_TRAILING: Final = re.compile(r"(?<! ) +(?=\n|$)")
_EMPTY_LINES: Final = re.compile(r"\n{3,}")


def cleaned(text: str) -> str:
    """Indentation and line feeds stay; at most one empty line in a row."""
    text = clean_text(text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")).translate(_AS_WRITTEN)
    return _EMPTY_LINES.sub("\n\n", _TRAILING.sub("", text)).strip("\n")


def one_line(text: str) -> str:
    return clipping.one_line(cleaned(text))
