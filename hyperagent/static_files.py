"""WhiteNoise as Django's middleware, without making every request synchronous: it knows at once whether a path is a
file.
"""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise's own can only be synchronous; in an asynchronous chain a thread would be held while a view waits."""

    sync_capable: ClassVar[bool] = True
    async_capable: ClassVar[bool] = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if iscoroutinefunction(self):
            return self.__acall__(request)
        response: HttpResponseBase = super().__call__(request)
        return response

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(self.static_prefix):
            response: HttpResponseBase = await self.get_response(request)
            return response
        file = self.find_file(request.path_info) if self.autorefresh else self.files.get(request.path_info)
        if file is None:
            missing: HttpResponseBase = await self.get_response(request)
            return missing
        served: HttpResponseBase = await sync_to_async(self.serve)(file, request)
        return served
