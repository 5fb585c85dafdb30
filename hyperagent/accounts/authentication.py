"""The API's door: who a request speaks for, by token or session, and whether its scopes reach. The rules are in
`tokens`.
"""

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of, user_for_token

if TYPE_CHECKING:
    # DRF reads this module while its views are still loading.
    from rest_framework.views import APIView

CHALLENGE = 'Bearer realm="api"'


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer ha_…`. Afterwards `request.user` is the owner and `request.auth` the `ApiToken`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _space, raw = get_authorization_header(request).strip().partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        found = user_for_token(raw.strip().decode("ascii", errors="replace"))
        if found is None:
            raise AuthenticationFailed(
                _("This token is unknown, revoked or past its end date. Make a new one."), code="bad_token"
            )
        return found

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class PageAuthentication(SessionAuthentication):
    """A session. What changes something needs the CSRF token of a page that was opened since its person signed in."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            raise PermissionDenied(
                _(
                    "This page was opened before you signed in last. Load it again. (A program sends the CSRF token"
                    " along, as X-CSRFToken.)"
                ),
                code="csrf_failed",
            ) from None


def HasScope(*scopes: Scope) -> type[BasePermission]:  # noqa: N802 - reads as the class that it returns
    """A permission for people who are signed in, and for tokens with one of the scopes. `admin` needs an administrator
    too."""
    named = " or ".join(f"'{scope}'" for scope in scopes)

    class _HasScope(BasePermission):
        code = "scope_missing"

        @property
        def message(self) -> str:
            """In the language of whoever is refused: this class is made when its module is read."""
            return _("This needs the scope {named}. Make a token that has it, or ask an administrator.").format(
                named=named
            )

        def has_permission(self, request: Request, view: "APIView") -> bool:
            if not isinstance(request.user, User):
                return False
            token = request.auth if isinstance(request.auth, ApiToken) else None
            return not scopes_of(request.user, token).isdisjoint(scopes)

    _HasScope.__name__ = f"HasScope_{'_'.join(scopes)}"
    return _HasScope
