"""What an HTTP request says about who sent it, and from where."""

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from hyperagent.accounts.limits import client_address
from hyperagent.accounts.models import User


def person(request: HttpRequest | Request) -> User:
    """Where only those come who are signed in."""
    assert isinstance(request.user, User)
    return request.user


def address_of(request: HttpRequest) -> str | None:
    return client_address(
        remote=request.META.get("REMOTE_ADDR"),
        forwarded_for=request.META.get("HTTP_X_FORWARDED_FOR"),
        trusted_proxies=settings.TRUSTED_PROXIES,
    )
