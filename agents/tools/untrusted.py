"""Text that others wrote, as a model gets it: between marks that it cannot end by itself. Pure."""

import re
from typing import Final

from agents.guardrails.quoting import UNSEEN
from hyperagent.lib.clipping import one_line

_UNSEEN: Final = f"{UNSEEN}\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"
_BRACKETS: Final = "<\uff1c\ufe64"


def looks_like(name: str) -> re.Pattern[str]:
    """Finds the bracket of whatever reads like the beginning or the end of a mark of this name, however it is spaced,
    and whatever stands between its letters that nobody sees."""
    # One class for the gap and the slash before the word: two would make the search quadratic in a long run of spaces.
    gap = f"[\\s{_UNSEEN}]*+"
    return re.compile(f"[{_BRACKETS}](?=[\\s/{_UNSEEN}]*+{gap.join(map(re.escape, name))})", re.IGNORECASE)


_MARK: Final = looks_like("untrusted")

MARK_BEGINS: Final = "<untrusted source="
MARK_ENDS: Final = "</untrusted>"
_NOT_IN_NAMES: Final = re.compile(f'[">{_BRACKETS}]')
_AROUND: Final = re.compile(r'\A<untrusted source="[^"]*">\n|\n</untrusted>\Z')


def marked_untrusted(text: str, *, source: str) -> str:
    """`source`: a tool's name, or what a file or another program is called, which is somebody's words as well. Whatever
    looks like one of the marks inside loses its bracket."""
    name = one_line(_NOT_IN_NAMES.sub(" ", source))
    return f'{MARK_BEGINS}"{name}">\n{_MARK.sub("&lt;", text)}\n{MARK_ENDS}'


def whole_quotations(text: str) -> str:
    """Of a text whose beginning was cut away: without what is left of a quotation that began before."""
    begins, ends = text.find(MARK_BEGINS), text.find(MARK_ENDS)
    return text[ends + len(MARK_ENDS) :].lstrip("\n") if ends >= 0 and not 0 <= begins < ends else text


def unmarked(text: str) -> str:
    """For people: the text without the marks that `marked_untrusted` put around it."""
    return _AROUND.sub("", text)
