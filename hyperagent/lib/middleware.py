"""A middleware of both kinds: in front of an asynchronous view one that is only synchronous would hold a thread for as
long as the view waits.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OfBothKinds(ABC):
    """`get_response` is what comes after it, of the kind that is called."""

    sync_capable: ClassVar[bool] = True
    async_capable: ClassVar[bool] = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._is_asynchronous = iscoroutinefunction(get_response)
        if self._is_asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return self.later(request) if self._is_asynchronous else self.now(request)

    @abstractmethod
    def now(self, request: HttpRequest) -> HttpResponseBase:
        """In front of what is synchronous."""

    @abstractmethod
    async def later(self, request: HttpRequest) -> HttpResponseBase:
        """In front of what is asynchronous."""
