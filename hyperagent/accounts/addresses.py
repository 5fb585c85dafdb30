"""Which e-mail addresses an account may have, and how a name is written down. Pure.

Two accounts must not look alike: an address that shows as somebody else's takes their invitations, their places in
projects and the trust of whoever reads it.
"""

import unicodedata
from typing import Final

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import without_hidden

# Control characters, what only forms others, lone surrogates, private and unassigned ones, and spaces of any kind.
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
# Letters and signs that show nothing: fillers of Hangul, the empty sign of Braille, and what only chooses a shape.
_EMPTY: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SHAPES: Final = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
LOOKS_LIKE_ANOTHER: Final = _(
    "This e-mail address has characters that cannot be seen, or that only look like others. Type it by hand."
)


def looks_like_another(email: str) -> bool:
    """Whether it is written with signs that show nothing, or that are another spelling of plain ones."""
    return unicodedata.normalize("NFKC", email) != email or any(map(_shows_nothing, email))


def check_address(email: str) -> None:
    """For forms, and for whoever makes an account. Raises ValidationError."""
    if looks_like_another(email.strip(" ")):
        raise ValidationError(LOOKS_LIKE_ANOTHER, code="looks_like_another")


def plain_name(name: str) -> str:
    """A name without what turns the writing around or shows nothing, in one line. Joiners within it stay: Persian names
    and emoji are written with them."""
    return one_line(without_hidden(name)).strip("\u200c\u200d ")


def _shows_nothing(sign: str) -> bool:
    is_shape = any(first <= ord(sign) <= last for first, last in _SHAPES)
    return is_shape or sign in _EMPTY or unicodedata.category(sign) in _UNSEEN
