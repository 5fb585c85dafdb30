"""Who is at a socket's door: the origin, the session or token, and later whether that still holds. Sends nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth import get_user as user_of_request
from django.http import HttpRequest
from django.http.request import validate_host
from django.utils import timezone
from django.utils.http import is_same_domain

from hyperagent.accounts.mfa.session_marks import is_settled
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.sessions import use
from hyperagent.accounts.tokens import scopes_of, user_for_token

BEARER = "bearer."


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the client showed; one of the two, or neither."""

    session_key: str | None = None
    token: str | None = None
    subprotocol: str | None = None
    """The one to answer with: browsers drop a socket that ignores what they offered."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who it is. `token_id` is None for a session."""

    user: User
    scopes: frozenset[Scope]
    session_key: str | None = None
    session_hash: str | None = None
    token_id: Any = None


def credentials_in(scope: Mapping[str, Any]) -> Credentials:
    """A token goes before a cookie."""
    offered = [str(name) for name in scope.get("subprotocols", ())]
    bearer = next((name for name in offered if name.startswith(BEARER)), None)
    if bearer is not None:
        others = [name for name in offered if not name.startswith(BEARER)]
        return Credentials(token=bearer.removeprefix(BEARER), subprotocol=others[0] if others else bearer)
    return Credentials(
        session_key=_cookie(scope, settings.SESSION_COOKIE_NAME), subprotocol=offered[0] if offered else None
    )


def origin_is_ours(scope: Mapping[str, Any]) -> bool:
    """Whether a page of ours opens it, and not a foreign one that rides on the cookie. Browsers always send an
    Origin."""
    origin = _header(scope, b"origin")
    if origin is None:
        return False
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return False
    if is_trusted(parts):
        return True
    host = _header(scope, b"host") or ""
    # The same host and port as the address that was asked for, and that host is one of ours.
    return parts.netloc.lower() == host.lower() and validate_host(
        parts.hostname, settings.ALLOWED_HOSTS or ["localhost"]
    )


def is_trusted(origin: SplitResult) -> bool:
    """Whether it is among CSRF_TRUSTED_ORIGINS, as Django looks at the origin of a form: `*.` is for all below a
    name."""
    trusted = map(urlsplit, settings.CSRF_TRUSTED_ORIGINS)
    return any(one.scheme == origin.scheme and is_same_domain(origin.netloc, one.netloc.lstrip("*")) for one in trusted)


def identify(credentials: Credentials) -> Caller | None:
    """Two queries, and seldom a third: a session that speaks is used. None for whoever is not, or no longer, let in."""
    if credentials.token is not None:
        found = user_for_token(credentials.token)
        return Caller(found[0], scopes_of(*found), token_id=found[1].pk) if found else None
    if not credentials.session_key:
        return None
    request = HttpRequest()
    request.session = _store()(credentials.session_key)
    user = user_of_request(request)
    if not isinstance(user, User) or not user.is_active or not is_settled(user, request.session):
        return None
    session_hash = request.session.get(HASH_SESSION_KEY)
    use(request.session)
    return Caller(user, scopes_of(user, None), session_key=credentials.session_key, session_hash=session_hash)


def still_let_in(callers: Iterable[Caller]) -> set[int]:
    """The `id()` of those whose session or token still opens the door. Three queries, however many there are."""
    callers = list(callers)
    active = User.objects.filter(pk__in={c.user.pk for c in callers}, is_active=True)
    users = {user.pk: user for user in active.select_related("service_account")}
    tokens = {c.token_id for c in callers if c.token_id}
    usable = {token.pk: token for token in ApiToken.objects.usable().filter(pk__in=tokens)} if tokens else {}
    sessions = _sessions({c.session_key for c in callers if c.session_key})
    return {id(c) for c in callers if c.user.pk in users and _still(c, users[c.user.pk], usable, sessions)}


def _still(caller: Caller, user: User, usable: Mapping[Any, ApiToken], sessions: Mapping[str, dict[str, Any]]) -> bool:
    if caller.token_id is not None:
        token = usable.get(caller.token_id)
        # What a program may is not fixed by its token alone.
        return token is not None and Scope.READ in scopes_of(user, token)
    values = sessions.get(caller.session_key or "")
    if values is None or values.get(SESSION_KEY) != str(user.pk) or BACKEND_SESSION_KEY not in values:
        return False
    # The digest of the password, as it was at the login: a changed password ends the session.
    return values.get(HASH_SESSION_KEY) == user.get_session_auth_hash()


def _sessions(keys: set[str]) -> dict[str, dict[str, Any]]:
    if not keys:
        return {}
    model = _store().get_model_class()
    rows = model.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    return {row.session_key: row.get_decoded() for row in rows}


def _store() -> Any:
    return import_module(settings.SESSION_ENGINE).SessionStore


def _header(scope: Mapping[str, Any], name: bytes) -> str | None:
    values = [value for key, value in scope.get("headers", ()) if key == name]
    return values[0].decode("latin-1") if values else None


def _cookie(scope: Mapping[str, Any], name: str) -> str | None:
    try:
        cookies = SimpleCookie(_header(scope, b"cookie") or "")
    except CookieError:
        return None
    morsel = cookies.get(name)
    return morsel.value if morsel else None
