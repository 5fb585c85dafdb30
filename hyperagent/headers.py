"""Headers of every answer that Django has no setting for. What stands in a content security policy: the settings."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponseBase
from django.middleware.common import CommonMiddleware

from hyperagent.lib.middleware import OfBothKinds
from hyperagent.lib.telemetry.requests import WATCHERS

HEADERS: Final = {
    # Other sites load nothing of ours, not even what needs no cookie.
    "Cross-Origin-Resource-Policy": "same-origin",
    # A name that an answer links to is looked up by nobody before the link is followed.
    "X-DNS-Prefetch-Control": "off",
    # What no page of ours uses, and nothing that got into one shall have; passkeys are for our own pages.
    "Permissions-Policy": "accelerometer=(), browsing-topics=(), camera=(), display-capture=(), geolocation=(), "
    "gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(self), "
    "screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()",
}


# What is answered is somebody's, and no proxy's or browser's to keep: whoever sits at the machine after them finds
# nothing. Files of the page and a public card say for themselves how long they are good.
NOT_KEPT: Final = "private, no-store"


class KnownHosts(CommonMiddleware):
    """Django's own, which answers 400 where the name that is asked for is not ours. Who watches us asks from inside,
    past the proxy, by whatever name a machine has there."""

    def process_request(self, request: HttpRequest) -> Any:
        return None if request.path in WATCHERS else super().process_request(request)


class Headers(OfBothKinds):
    """A header that a view has set stays."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        return _with_headers(self.get_response(request))

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        return _with_headers(await self.get_response(request))


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", NOT_KEPT)
    return response
