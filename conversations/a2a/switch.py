"""Whether A2A is on. Knows no protocol, and imports none."""

from functools import cache
from importlib.util import find_spec
from typing import ClassVar, Final

from django.conf import settings
from django.utils.translation import gettext as _

from hyperagent.lib.refusals import Refused

LIBRARY: Final = "a2a"


class Off(Refused):
    status: ClassVar[int] = 404

    def __init__(self) -> None:
        super().__init__(
            "a2a_is_off",
            _("A2A is off here. An administrator turns it on: the extra 'a2a' installed, and A2A_ENABLED=true."),
        )


def check_is_on() -> None:
    """Raises Off."""
    if not (settings.CONFIG.a2a_enabled and _is_installed()):
        raise Off


@cache
def _is_installed() -> bool:
    return find_spec(LIBRARY) is not None
