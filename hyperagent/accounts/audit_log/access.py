"""Who may read the audit log: administrators and auditors. A program of an administrator's needs the scope `admin`, one
of an auditor's (who can give no such token) the scope `read`.
"""

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from hyperagent.accounts import sign_ins
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Role, Scope
from hyperagent.accounts.tokens import scopes_of


def may_read(user: object, token: ApiToken | None = None) -> bool:
    """One query at most. `token`: None for a session."""
    if not isinstance(user, User) or not user.is_active:
        return False
    scopes = scopes_of(user, token)
    if user.is_staff and Scope.ADMIN in scopes:
        return True
    return Scope.READ in scopes and user.groups.filter(name=Role.AUDITOR).exists()


def may_still_read(user_id: UUID, *, token_id: UUID | None, session_key: str | None) -> bool:
    """The same a while later, by what the database says now: roles are taken, tokens revoked and sessions ended."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        return False
    if token_id is None:
        return sign_ins.is_alive(session_key or "", user) and may_read(user)
    token = ApiToken.objects.usable().filter(pk=token_id).first()
    return token is not None and may_read(user, token)


class ReadsAudit(BasePermission):
    message = _("The audit log is for administrators, with the scope 'admin', and for auditors, with the scope 'read'.")
    code = "not_allowed"

    def has_permission(self, request: Request, view: APIView) -> bool:
        return may_read(request.user, token_of(request))


def token_of(request: Request) -> ApiToken | None:
    return request.auth if isinstance(request.auth, ApiToken) else None
