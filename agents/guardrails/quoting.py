"""How a text of others is told without its force, and the way back: which passage of a text a model means that was told
it like this. Pure.
"""

import re
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
_LEFT_OUT: Final = f"[{UNSEEN}\u200c\u200d\ufe00-\ufe0f]*"
_TOLD_AS: Final = {told: meant for signs in (NO_QUOTES, WEAK) for meant, told in signs.items()}


def unquoted(told: str) -> str:
    """Without the marks of quotations."""
    return told.replace(QUOTED, "").replace(END, "")


def places_of(told: str, text: str) -> list[tuple[int, int]]:
    """From where to where the text has what was told like this; at most two places. Linear in both."""
    wanted = unquoted(told)
    if not wanted.strip() or len(wanted) > MOST_CHARS:
        return []
    signs = (re.escape(sign) if sign not in _TOLD_AS else f"[{re.escape(sign + _TOLD_AS[sign])}]" for sign in wanted)
    found = []
    for match in re.compile(_LEFT_OUT.join(signs)).finditer(text):
        found.append(match.span())
        if len(found) > 1:
            break
    return found
