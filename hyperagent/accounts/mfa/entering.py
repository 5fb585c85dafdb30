"""The last steps of a sign-in, by whatever door it began: a second factor where the account has one, then the session.

Who has shown the first and not the second is nobody yet: their session holds who they say that they are, for a while.
"""

import time
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from hyperagent.accounts import sign_ins
from hyperagent.accounts.mfa import factors, session_marks
from hyperagent.accounts.models import User

HALF_IN: Final = "half_signed_in"
WAITS_S: Final = 600


@dataclass(frozen=True, slots=True)
class HalfIn:
    """`digest`: of the password and the number of ended sessions; it may have changed since."""

    user_id: str
    digest: str
    next: str
    at: float


def enter(request: HttpRequest, user: User, *, next_url: str, with_factor: bool = False) -> HttpResponse:
    """The first factor was right. `next_url` is looked at already. `with_factor`: so was a second one."""
    if not with_factor and factors.has_factor(user):
        request.session.cycle_key()
        request.session[HALF_IN] = asdict(HalfIn(str(user.pk), user.get_session_auth_hash(), next_url, time.time()))
        return redirect("accounts:second_factor")
    forget(request)
    sign_ins.sign_in(request, user)
    session_marks.mark(request.session, with_factor=with_factor)
    return sign_ins.with_choices(redirect(next_url), user)


def forget(request: HttpRequest) -> None:
    """Nobody is half in any more."""
    request.session.pop(HALF_IN, None)


def half_in(request: HttpRequest) -> tuple[User, str] | None:
    """Who has to show a second factor, and where they want to go; None if nobody does (any more)."""
    stored: Any = request.session.get(HALF_IN)
    if not isinstance(stored, dict) or stored.keys() != {field.name for field in fields(HalfIn)}:
        return None
    held = HalfIn(**stored)
    if not 0 <= time.time() - held.at < WAITS_S:
        return None
    user = User.objects.filter(pk=held.user_id, is_active=True).first()
    if user is None or user.get_session_auth_hash() != held.digest:
        return None
    return user, held.next


def safe_next(request: HttpRequest, url: str) -> str:
    """Where they wanted to go, if that is here; else home."""
    hosts = {request.get_host()}
    is_here = url_has_allowed_host_and_scheme(url, allowed_hosts=hosts, require_https=request.is_secure())
    return url if url and is_here else settings.LOGIN_REDIRECT_URL


def by_provider_only(user: User) -> bool:
    """Whether this person signs in at the provider and nowhere else. Administrators keep an emergency way in."""
    sign_on = settings.SIGN_ON
    return sign_on is not None and sign_on.is_required and not user.is_staff


def provider_only() -> str:
    name = settings.SIGN_ON.name if settings.SIGN_ON else ""
    return _("Everybody but administrators signs in by {name} here.").format(name=name)
