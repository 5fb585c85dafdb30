"""How many requests wait for whoever looks at a page, for its frame."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from hitl.reading import pending_by_user
from hyperagent.accounts.models import User


def for_me(request: HttpRequest) -> dict[str, Any]:
    """`waiting_for_me`: the number that the socket of the inbox tells too. One query, if the page shows it."""
    return {"waiting_for_me": SimpleLazyObject(lambda: _count(request))}


def _count(request: HttpRequest) -> int:
    user = getattr(request, "user", None)
    return pending_by_user([user.pk]).get(user.pk, 0) if isinstance(user, User) else 0
