"""Text that others wrote, as it may stand in a mail or a webhook: one line, short, without characters that act."""

import re
import unicodedata
from typing import Any

from hyperagent.lib import clipping
from hyperagent.lib.text import clean_text

TITLE_CHARS = 120
VALUE_CHARS = 300
# What turns the direction of text around: a line could show other words than it holds.
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def one_line(text: str, limit: int = TITLE_CHARS) -> str:
    """Without line ends, control characters and signs of direction; cut with an ellipsis."""
    visible = _TURNING.sub("", clean_text(text))
    spaced = "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in visible)
    return clipping.tidy_beginning(clipping.one_line(spaced), limit)


def short_values(value: Any) -> Any:
    """The same JSON value with its strings cut: a payload names things and does not carry them."""
    return clipping.in_strings(value, lambda text: clipping.beginning(text, VALUE_CHARS))
