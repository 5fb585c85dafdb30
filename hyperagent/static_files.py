"""The page's own files: under an address that changes with their content, from memory, compressed.

The version stands before the path (`/static/~3f2a…/js/chat.js`), so that modules that import each other by relative
path stay in one version, and a browser may keep them for ever. Without a version WhiteNoise serves them, as does a
program that is being written (DEBUG), where they change under the process. Knows nothing of what is in them.
"""

import asyncio
import gzip
import hashlib
import mimetypes
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]

Application = Callable[[Any, Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# Types that are text; pictures and fonts are compressed already. The system's own table may not know them.
TEXT: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}
FOR_EVER: Final = b"public, max-age=31536000, immutable"
# A page from before an update asks for its own version and gets the files of now: they are not to be kept.
FOR_NOW: Final = b"no-cache"
_VERSIONED: Final = re.compile(r"^(?P<prefix>.*?)~(?P<version>[0-9a-f]{12})/(?P<name>.+)$")


@cache
def files() -> Mapping[str, Path]:
    """Every file by its name, the first of a name as Django finds it."""
    found: dict[str, Path] = {}
    for finder in finders.get_finders():
        for name, storage in finder.list(None):
            prefix = getattr(storage, "prefix", None)
            found.setdefault(f"{prefix}/{name}" if prefix else name, Path(storage.path(name)))
    return found


@cache
def version() -> str:
    """Of all files together: a module is as new as the newest that it imports."""
    whole = hashlib.sha256()
    for name, path in sorted(files().items()):
        whole.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:12]


class VersionedFiles(StaticFilesStorage):
    """What `{% static %}` writes."""

    def url(self, name: str | None) -> str:
        plain: str = super().url(name)
        if settings.DEBUG or not plain.startswith(self.base_url):
            return plain
        return f"{self.base_url}~{version()}/{plain.removeprefix(self.base_url)}"


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """For what is asked without a version, and where FilesFirst does not stand before Django.

    WhiteNoise's own can only be synchronous; in an asynchronous chain a thread would be held while a view waits.
    """

    sync_capable: ClassVar[bool] = True
    async_capable: ClassVar[bool] = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def add_files_from_finders(self) -> None:
        """None yet: each when it is first asked for. To read what there is to say of 375 takes 16 ms for each chain of
        middleware (50 the first time), and few are ever asked for without their version. What somebody once collected
        does not stand before them."""
        self.files.clear()

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if iscoroutinefunction(self):
            return self.__acall__(request)
        file = self._file(request.path_info)
        response: HttpResponseBase = self.get_response(request) if file is None else self.serve(file, request)
        return response

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        file = self._file(request.path_info)
        response: HttpResponseBase = await (
            self.get_response(request) if file is None else sync_to_async(self.serve)(file, request)
        )
        return response

    def _file(self, path: str) -> Any:
        if not path.startswith(self.static_prefix):
            return None
        asked = _VERSIONED.match(path)
        plain = path if asked is None else asked["prefix"] + asked["name"]
        if self.autorefresh:
            return self.find_file(plain)
        if plain not in self.files and (found := files().get(plain.removeprefix(self.static_prefix))):
            self.add_file_to_dictionary(plain, str(found))
        return self.files.get(plain)


class FilesFirst:
    """Stands before Django: a file that is asked for by its version costs no middleware, no log line and, but for the
    first time, no thread.
    """

    def __init__(self, application: Application) -> None:
        self._next = application
        self._bodies: dict[tuple[str, bool], bytes] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = _VERSIONED.match(scope["path"])
        if asked is None or settings.DEBUG or not _is_file(asked, scope["method"]):
            await self._next(scope, receive, send)
            return
        name = asked["name"]
        is_compressed = Path(name).suffix in TEXT and _takes_gzip(scope["headers"])
        body = self._bodies.get((name, is_compressed))
        if body is None:
            body = await asyncio.to_thread(_body, name, is_compressed=is_compressed)
            self._bodies[name, is_compressed] = body
        headers = _headers(name, is_compressed=is_compressed, size=len(body), is_current=asked["version"] == version())
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _is_file(asked: re.Match[str], method: str) -> bool:
    return method in ("GET", "HEAD") and asked["prefix"] == settings.STATIC_URL and asked["name"] in files()


def _body(name: str, *, is_compressed: bool) -> bytes:
    whole = files()[name].read_bytes()
    return gzip.compress(whole, mtime=0) if is_compressed else whole


def _takes_gzip(headers: Headers) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in headers)


def _headers(name: str, *, is_compressed: bool, size: int, is_current: bool) -> Headers:
    type_ = TEXT.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    shared = [
        (b"content-type", type_.encode()),
        (b"content-length", str(size).encode()),
        (b"cache-control", FOR_EVER if is_current else FOR_NOW),
        (b"vary", b"Accept-Encoding"),
        (b"x-content-type-options", b"nosniff"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]
    return [*shared, (b"content-encoding", b"gzip")] if is_compressed else shared
