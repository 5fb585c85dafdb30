"""Text that others wrote, as a model gets it: between marks that it cannot end by itself. Pure."""

import re
from typing import Final

_GAP: Final = "[\\s\u200b-\u200f\u2060\u00ad\ufeff]*"
# One class for the gap and the slash before the word: two would make the search quadratic in a long run of spaces.
_MARK: Final = re.compile(
    "[<\uff1c\ufe64](?=[\\s/\u200b-\u200f\u2060\u00ad\ufeff]*" + _GAP.join("untrusted") + ")", re.IGNORECASE
)

MARK_BEGINS: Final = "<untrusted source="
_AROUND: Final = re.compile(r'\A<untrusted source="[^"]*">\n|\n</untrusted>\Z')


def marked_untrusted(text: str, *, source: str) -> str:
    """`source`: the tool's name. Whatever looks like one of the marks inside loses its bracket."""
    return f'{MARK_BEGINS}"{source}">\n{_MARK.sub("&lt;", text)}\n</untrusted>'


def unmarked(text: str) -> str:
    """For people: the text without the marks that `marked_untrusted` put around it."""
    return _AROUND.sub("", text)
