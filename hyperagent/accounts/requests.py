"""What an HTTP request says about where it came from."""

from django.conf import settings
from django.http import HttpRequest

from hyperagent.accounts.limits import client_address


def address_of(request: HttpRequest) -> str | None:
    return client_address(
        remote=request.META.get("REMOTE_ADDR"),
        forwarded_for=request.META.get("HTTP_X_FORWARDED_FOR"),
        trusted_proxies=settings.TRUSTED_PROXIES,
    )
