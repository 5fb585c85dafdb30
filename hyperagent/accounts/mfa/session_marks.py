"""How far somebody is let in, as marks in their session: whether a second factor was shown, and when they last showed
that it is them. Knows no factor.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from hyperagent.accounts.models import User
from hyperagent.lib.sign_on import RequiredFor

SHOWN: Final = "second_factor_shown"
CONFIRMED_AT: Final = "confirmed_at"
# So long after a sign-in or a confirmation what guards the account may be changed.
RECENT_S: Final = 900


def needs_factor(user: User) -> bool:
    """Whether this person may do nothing without a second factor."""
    match settings.MFA_REQUIRED_FOR:
        case RequiredFor.EVERYBODY:
            return True
        case RequiredFor.ADMINISTRATORS:
            return user.is_staff or user.is_superuser
        case _:
            return False


def is_settled(user: User, session: Mapping[str, Any]) -> bool:
    """Whether this session may be used for more than to show or to set up a second factor."""
    return bool(session.get(SHOWN)) or not needs_factor(user)


def mark(session: Any, *, with_factor: bool) -> None:
    """They have just shown that it is them. `with_factor`: with a second factor, here or at the provider."""
    session[CONFIRMED_AT] = time.time()
    if with_factor:
        session[SHOWN] = True


def is_recent(session: Mapping[str, Any]) -> bool:
    at = session.get(CONFIRMED_AT)
    return isinstance(at, (int, float)) and 0 <= time.time() - at < RECENT_S
