"""What the page "Security" of the settings shows of second factors and of single sign-on."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from hyperagent.accounts.mfa import factors, session_marks
from hyperagent.accounts.models import User
from hyperagent.accounts.sso import views as sso
from hyperagent.accounts.sso.arriving import identities_of
from hyperagent.accounts.sso.protocol import is_same_issuer


def shown(request: HttpRequest, user: User) -> dict[str, Any]:
    """Two queries."""
    identities = identities_of(user)
    sign_on = settings.SIGN_ON
    is_linked = sign_on is not None and any(is_same_issuer(one.issuer, sign_on.issuer) for one in identities)
    may_link = sign_on is not None and not is_linked and session_marks.is_recent(request.session)
    return {
        "has_factor": factors.has_factor(user),
        "has_password": user.has_usable_password(),
        "identities": identities,
        "is_linked": is_linked,
        "linking_token": sso.linking_token(request) if may_link else "",
        "sign_on": sign_on,
    }
