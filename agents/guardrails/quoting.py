"""How a text of others is told without its force, and the way back: which passage of a text a model means that was told
it like this. Pure.
"""

import re
from bisect import bisect_right
from typing import Final

QUOTED: Final = "⟦quoted: "
END: Final = "⟧"
NO_QUOTES: Final = {"⟦": "[", "⟧": "]"}
"""What stands for these signs of a text, so that nothing inside can begin or end a quotation."""
WEAK: Final = {"<": "‹", ">": "›", "|": "¦", "[": "⦗", "]": "⦘", "#": "＃"}
"""What stands for the signs of marks by which models are told who speaks."""
# Zero-width characters, bidi controls, tags, and what else takes no room. Joiners are in a class of their own: they
# hold families of emoji together, and Persian and Indic words apart.
UNSEEN: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
MOST_CHARS: Final = 20_000
"""Of longer passages nothing is looked for but the words themselves."""
# Joiners and selectors of variants are left out in some places only.
_LEFT_OUT: Final = re.compile(f"[{UNSEEN}\u200c\u200d\ufe00-\ufe0f]+")
# A plain bracket may be told for one of a quotation, and is told by another sign: all three are taken for one.
_MEANT: Final = str.maketrans({**NO_QUOTES, **{told: meant for meant, told in WEAK.items()}})


def unquoted(told: str) -> str:
    """Without the marks of quotations."""
    return told.replace(QUOTED, "").replace(END, "")


def places_of(told: str, text: str) -> list[tuple[int, int]]:
    """From where to where the text has what was told like this; at most two places. Linear in both."""
    wanted = _LEFT_OUT.sub("", unquoted(told)).translate(_MEANT)
    if not wanted.strip() or len(wanted) > MOST_CHARS:
        return []
    bare, starts, origins = _without_unseen(text)
    bare = bare.translate(_MEANT)

    def origin(place: int) -> int:
        part = bisect_right(starts, place) - 1
        return origins[part] + place - starts[part]

    found: list[tuple[int, int]] = []
    at = bare.find(wanted)
    while at >= 0 and len(found) < 2:
        end = at + len(wanted)
        found.append((origin(at), origin(end - 1) + 1))
        at = bare.find(wanted, end)
    return found


def _without_unseen(text: str) -> tuple[str, list[int], list[int]]:
    """The text without what may be left out of it, and of its parts where they begin in it and in the text."""
    parts, starts, origins = [], [0], [0]
    for gap in _LEFT_OUT.finditer(text):
        parts.append(text[origins[-1] : gap.start()])
        starts.append(starts[-1] + len(parts[-1]))
        origins.append(gap.end())
    return "".join([*parts, text[origins[-1] :]]), starts, origins
