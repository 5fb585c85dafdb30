"""To the provider and back. Whatever goes wrong is a sentence on the page where it was begun, and a line in the log."""

import secrets
import uuid
from typing import Final

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from hyperagent.accounts import attempts
from hyperagent.accounts.attempts import TooManyTries, Try
from hyperagent.accounts.limits import Door, address_subject
from hyperagent.accounts.mfa import entering, factors, session_marks
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of, person
from hyperagent.accounts.sso import arriving, protocol, provider
from hyperagent.accounts.sso.problems import NotSignedOn, Why
from hyperagent.accounts.sso.protocol import Doing, PendingSignIn
from hyperagent.accounts.zones import is_choosable
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import record
from hyperagent.lib import oauth
from hyperagent.lib.refusals import Refused
from hyperagent.lib.sign_on import SignOn

log = structlog.get_logger(__name__)
GOING: Final = "sso_going"
LINKING: Final = "sso_linking"
CODE_CHARS: Final = 4000


@never_cache
@require_safe
def begin(request: HttpRequest) -> HttpResponse:
    """A link, not a form: a form that leads elsewhere is stopped by our own content security policy. What links an
    account has to show what only its own page was given.
    """
    sign_on = _sign_on()
    doing = _doing(request)
    if doing is None:
        return redirect(_back_to(Doing.LINK))
    next_url = entering.safe_next(request, request.GET.get("next", ""))
    if doing is Doing.SIGN_IN and request.user.is_authenticated:
        return redirect(next_url)
    zone = request.GET.get("time_zone", "")
    going = PendingSignIn.fresh(doing, next_url=next_url, time_zone=zone if is_choosable(zone) else "")
    try:
        there = provider.discover(sign_on)
    except NotSignedOn as problem:
        return _not_signed_on(request, going, problem)
    oauth.keep(request.session, GOING, going.state, going.stored())
    return redirect(protocol.authorization_url(there, sign_on, going, redirect_url=redirect_url()))


@never_cache
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    sign_on = _sign_on()
    going = PendingSignIn.read(oauth.taken(request.session, GOING, request.GET.get("state", "")))
    if going is None:
        return _not_signed_on(request, None, NotSignedOn(Why.LOST, name=sign_on.name))
    address = address_of(request)
    tried = Try(Door.SSO, address_subject(address), address)
    try:
        attempts.take(tried)
        answer = _arrived(request, sign_on, going)
    except TooManyTries as refused:
        messages.error(request, refused.message)
        return redirect(_back_to(going.doing, going.next))
    except NotSignedOn as problem:
        return _not_signed_on(request, going, problem)
    attempts.succeeded(tried)
    return answer


@never_cache
@login_required
@require_POST
def unlink(request: HttpRequest, identity_id: uuid.UUID) -> HttpResponse:
    user = person(request)
    if all(identity.pk != identity_id for identity in arriving.identities_of(user)):
        raise Http404
    if not session_marks.is_recent(request.session):
        return redirect(f"{reverse('settings:confirm')}?{urlencode({'next': reverse('settings:security')})}")
    try:
        arriving.unlink(user, identity_id)
    except Refused as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("It is not linked any more."))
    return redirect("settings:security")


def linking_token(request: HttpRequest) -> str:
    """For the link on the page of the settings: another site can send somebody here, and does not know it."""
    if LINKING not in request.session:
        request.session[LINKING] = secrets.token_urlsafe(24)
    return str(request.session[LINKING])


def redirect_url() -> str:
    """What has to be registered at the provider: the configured address, not the host that the request claimed."""
    return f"{settings.SITE_URL}{reverse('accounts:sso_callback')}"


def _arrived(request: HttpRequest, sign_on: SignOn, going: PendingSignIn) -> HttpResponse:
    """Raises NotSignedOn."""
    said = request.GET
    if "iss" in said and not protocol.is_same_issuer(said["iss"], sign_on.issuer):
        raise NotSignedOn(Why.WRONG_ISSUER, name=sign_on.name, detail="the answer names another issuer")
    if "error" in said or not 0 < len(said.get("code", "")) <= CODE_CHARS:
        denied = said.get("error") in ("access_denied", "login_required", "interaction_required", "consent_required")
        raise NotSignedOn(Why.DENIED if denied else Why.REFUSED, name=sign_on.name, detail=said.get("error", "")[:60])
    arrival = provider.exchange(sign_on, going, code=said["code"], redirect_url=redirect_url())
    if going.doing is Doing.SIGN_IN:
        user = arriving.account_of(arrival, sign_on, time_zone=going.time_zone)
        return entering.enter(request, user, next_url=going.next, with_factor=arrival.has_second_factor)
    # Who began it may have signed out since, in another window.
    if not isinstance(request.user, User):
        raise NotSignedOn(Why.LOST, name=sign_on.name)
    if going.doing is Doing.LINK:
        arriving.link(request.user, arrival, sign_on)
        messages.success(request, _("{name} is linked: from now on it signs you in.").format(name=sign_on.name))
        return redirect("settings:security")
    arriving.check_same(request.user, arrival, sign_on)
    if factors.has_factor(request.user) and not arrival.has_second_factor:
        # The provider stands in for the password: who has more shows that, as at the sign-in.
        messages.warning(request, _("{name} asked for no second factor: show yours here.").format(name=sign_on.name))
        return redirect(_back_to(going.doing, going.next))
    session_marks.mark(request.session, with_factor=arrival.has_second_factor)
    return redirect(going.next)


def _doing(request: HttpRequest) -> Doing | None:
    """None for what may not be begun like this."""
    if "link" in request.GET:
        expected = request.session.get(LINKING, "")
        is_ours = bool(expected) and constant_time_compare(request.GET["link"], expected)
        may = request.user.is_authenticated and is_ours and session_marks.is_recent(request.session)
        return Doing.LINK if may else None
    if "confirm" in request.GET:
        return Doing.CONFIRM if request.user.is_authenticated else None
    return Doing.SIGN_IN


def _not_signed_on(request: HttpRequest, going: PendingSignIn | None, problem: NotSignedOn) -> HttpResponse:
    log.warning("sso.not_signed_on", why=str(problem.why), detail=problem.detail)
    record(AuditKind.SIGN_IN_FAILED, actor=None, details={"by": "sso", "why": str(problem.why)})
    messages.error(request, problem.message)
    return redirect(_back_to(going.doing if going else Doing.SIGN_IN, going.next if going else ""))


def _back_to(doing: Doing, next_url: str = "") -> str:
    match doing:
        case Doing.SIGN_IN:
            asked = f"?{urlencode({'next': next_url})}" if next_url not in ("", settings.LOGIN_REDIRECT_URL) else ""
            return f"{reverse('accounts:login')}{asked}"
        case Doing.LINK:
            return reverse("settings:security")
        case Doing.CONFIRM:
            return f"{reverse('settings:confirm')}?{urlencode({'next': next_url})}"


def _sign_on() -> SignOn:
    if settings.SIGN_ON is None:
        raise Http404
    found: SignOn = settings.SIGN_ON
    return found
