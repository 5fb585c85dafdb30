"""What a request takes from the person who makes it: the zone in which times are told to them."""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from hyperagent.accounts.models import User


class PersonalTime:
    """After the middleware that knows who it is. What programs read is in UTC whatever the zone.

    Of both kinds: in front of an asynchronous view a synchronous one would hold a thread while the view waits.
    """

    sync_capable: ClassVar[bool] = True
    async_capable: ClassVar[bool] = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._is_asynchronous = iscoroutinefunction(get_response)
        if self._is_asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_asynchronous:
            return self._later(request)
        with timezone.override(None if _is_programs(request) else _zone_of(request)):
            return cast(HttpResponseBase, self.get_response(request))

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
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
