"""Which passwords somebody who guesses tries first. Looked up here: no service is told of one, nor of its hash."""

import re
from typing import Final

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

PRODUCT: Final = "hyperagent"
# Names that say nothing: `www`, `ai`, `org`.
NAME_CHARS: Final = 4
_AROUND: Final = re.compile(r"^[\W\d_]+|[\W\d_]+$")
_TWICE: Final = re.compile(r"(.+?)\1+")


class Guessable(CommonPasswordValidator):
    """Django's list of 20,000, and what becomes of one of them, or of a name of this installation, by figures and signs
    around it or by being written several times.
    """

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        typed = password.lower().strip()
        bare = _AROUND.sub("", typed)
        tried = {typed, once(typed)} | ({bare, once(bare)} if len(bare) >= NAME_CHARS else set())
        if tried & self.passwords or tried & names_here():
            raise ValidationError(self.get_error_message(), code="password_too_common")


def once(text: str) -> str:
    """`abc` of `abcabc`."""
    repeated = _TWICE.fullmatch(text)
    return repeated[1] if repeated else text


def names_here() -> set[str]:
    """What a password is made of by whoever looks at the page: the product, the host's name, the provider's."""
    sign_on = settings.SIGN_ON
    words = re.split(r"[^a-z]+", f"{settings.SITE_URL} {sign_on.name if sign_on else ''}".lower())
    return {PRODUCT, *(word for word in words if len(word) >= NAME_CHARS)}
