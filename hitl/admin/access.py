"""Who sees what of requests in the admin: reviewers what is theirs to decide, auditors and administrators all."""

from typing import Any

from django.http import HttpRequest

from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Role
from hyperagent.lib.read_only_admin import VIEW_CONTENT, ReadOnlyAdmin


def roles_of(request: HttpRequest) -> frozenset[Role]:
    """One query for each page."""
    user = request.user
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    known = getattr(request, "hitl_roles", None)
    if known is None:
        known = frozenset(user.roles())
        request.hitl_roles = known  # type: ignore[attr-defined]
    return known


def is_administrator(request: HttpRequest) -> bool:
    return request.user.is_active and bool(request.user.is_staff)


def sees_all(request: HttpRequest) -> bool:
    return is_administrator(request) or Role.AUDITOR in roles_of(request)


def reads_all(request: HttpRequest) -> bool:
    """Whether they may also read what was asked and said. Auditors may: it is what they are for."""
    return request.user.has_perm(VIEW_CONTENT) or Role.AUDITOR in roles_of(request)


class ForAuditors(ReadOnlyAdmin):
    """Pages for administrators and auditors."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_all(request)


class ForReviewers(ReadOnlyAdmin):
    """Pages for whoever has a role; which rows they see is the page's own."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request) or len(roles_of(request) - {Role.USER}) > 0
