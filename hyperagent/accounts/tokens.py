"""What an API token looks like, and who is behind one. Knows no requests, so sockets and plain views can use it too."""

import hashlib
import re
import secrets
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.people_models import ServiceAccount
from hyperagent.accounts.scopes import Scope, person_scopes
from hyperagent.lib import rows

TOKEN_LIFETIME = timedelta(days=90)
LONGEST_TOKEN_LIFETIME = timedelta(days=366)
_USE_IS_NOTED_EVERY = timedelta(minutes=1)
_TOKEN = re.compile(r"ha_[A-Za-z0-9_-]{43}")
# As `ApiToken.objects.usable()`.
_USABLE = f"""
    SELECT {rows.columns(ApiToken, "t")}, {rows.columns(User, "u")}, {rows.columns(ServiceAccount, "s")}
      FROM accounts_apitoken t JOIN accounts_user u ON u.id = t.user_id
      LEFT JOIN accounts_serviceaccount s ON s.user_id = u.id
     WHERE t.digest = %s AND t.revoked_at IS NULL AND t.expires_at > statement_timestamp() AND u.is_active
"""


def new_token() -> str:
    return f"ha_{secrets.token_urlsafe(32)}"


def token_digest(raw: str) -> str:
    # A token has 256 random bits, so a plain digest cannot be guessed back; a slow hash would only cost every request.
    return hashlib.sha256(raw.encode()).hexdigest()


def user_for_token(raw: str) -> tuple[User, ApiToken] | None:
    """Who a token speaks for, or None if it is unknown, ended, revoked or its owner inactive.

    One query, and one more when the noted time of its last use is a minute old.
    """
    if not _TOKEN.fullmatch(raw):
        return None
    found = rows.execute(_USABLE, [token_digest(raw)]).fetchone()
    if found is None:
        return None
    token, user, program = rows.read(found, ApiToken, User, ServiceAccount)
    token.user = user
    if program is not None:
        user.service_account = program
    if token.last_used_at is None or token.last_used_at < timezone.now() - _USE_IS_NOTED_EVERY:
        # The condition again, by the database's clock: of a hundred requests at once, one writes.
        due = Q(last_used_at=None) | Q(last_used_at__lt=Now() - _USE_IS_NOTED_EVERY)
        ApiToken.objects.filter(due, pk=token.pk).update(last_used_at=Now())
    return user, token


def scopes_of(user: User, token: ApiToken | None) -> frozenset[Scope]:
    """What this request may do: all that the person may, or, through a token, only what both may."""
    allowed = person_scopes(is_staff=user.is_staff)
    if user.is_service:
        allowed &= frozenset(Scope(name) for name in user.service_account.scopes)
    if token is None:
        return allowed
    return allowed & frozenset(Scope(name) for name in token.scopes)
