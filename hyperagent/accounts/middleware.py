"""What a request takes from the person who makes it: the zone in which times are told to them, where it came from,
which the audit log writes down, and where they come back to if they have to sign in first.
"""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import resolve_url
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme

from hyperagent.accounts.browsers import browser_name
from hyperagent.accounts.limits import client_address
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of
from hyperagent.audit.origin import Origin, coming_from
from hyperagent.lib.middleware import OfBothKinds


class PersonalTime(OfBothKinds):
    """After the middleware that knows who it is. What programs read is in UTC whatever the zone."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        with timezone.override(None if _is_programs(request) else _zone_of(request)):
            return cast(HttpResponseBase, self.get_response(request))

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        zone = None if _is_programs(request) else await sync_to_async(_zone_of)(request)
        with timezone.override(zone):
            return cast(HttpResponseBase, await self.get_response(request))


def _is_programs(request: HttpRequest) -> bool:
    return request.path.startswith(("/api/", "/v1/"))


def _zone_of(request: HttpRequest) -> ZoneInfo | None:
    if not isinstance(request.user, User) or not request.user.time_zone:
        return None
    try:
        return ZoneInfo(request.user.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        # A name that this machine does not know: another one may.
        return None


class BackToTheForm(OfBothKinds):
    """Who has to sign in before what they sent is taken comes back to the page that they sent it from. Many of the
    addresses that take something show nothing.
    """

    def now(self, request: HttpRequest) -> HttpResponseBase:
        return _led_back(request, cast(HttpResponseBase, self.get_response(request)))

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        return _led_back(request, cast(HttpResponseBase, await self.get_response(request)))


def _led_back(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    if request.method != "POST" or answer.status_code != 302:
        return answer
    # Who signs out is led to the same page, and wants to come back to nothing.
    if not answer["Location"].startswith(f"{resolve_url(settings.LOGIN_URL)}?{REDIRECT_FIELD_NAME}="):
        return answer
    form, here = request.headers.get("Referer", ""), {request.get_host()}
    if not form or not url_has_allowed_host_and_scheme(form, allowed_hosts=here, require_https=request.is_secure()):
        return answer
    place = urlsplit(form)
    answer["Location"] = redirect_to_login(place.path + (f"?{place.query}" if place.query else "")).url
    return answer


class KnownOrigin(OfBothKinds):
    """Whatever is recorded while the request is answered is recorded as coming from where it came from."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        with coming_from(_noted_origin(request)):
            return cast(HttpResponseBase, self.get_response(request))

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        with coming_from(_noted_origin(request)):
            return cast(HttpResponseBase, await self.get_response(request))


def _noted_origin(request: HttpRequest) -> Origin:
    origin = Origin(address_of(request) or "", _browser(request.headers.get("User-Agent", "")))
    request.audit_origin = origin  # type: ignore[attr-defined]
    return origin


class SocketOrigin:
    """The same for what is asked over a socket, for as long as it is open."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> Any:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        address = client_address(
            remote=(scope.get("client") or [None])[0],
            forwarded_for=headers.get("x-forwarded-for"),
            trusted_proxies=settings.TRUSTED_PROXIES,
        )
        with coming_from(Origin(address or "", _browser(headers.get("user-agent", "")))):
            return await self.inner(scope, receive, send)


def _browser(user_agent: str) -> str:
    # The log is not told in the language of whoever is in it.
    with translation.override("en"):
        return browser_name(user_agent) if user_agent else ""
