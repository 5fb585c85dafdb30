"""Stored bytes over HTTP: a file to be saved or shown, and pictures of its pages, which are kept for a while."""

from collections.abc import AsyncIterator
from threading import BoundedSemaphore
from typing import IO, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header, parse_etags
from django.utils.translation import gettext as _

from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.threads import in_thread
from memory.ingestion import files, pictures
from memory.models import Document
from memory.reading.images import page_count, page_image
from memory.reading.values import Unreadable

CHUNK_BYTES: Final = 1 << 18
WIDTHS: Final = (400, 800, 1200, 1600, 2000)
# Each is a process with a PDF in memory.
_DRAWING: Final = BoundedSemaphore(2)
DRAWN_WITHIN_S: Final = 20.0
COUNTED_WITHIN_S: Final = 2.0  # a page waits for it
_PAGES: Final = "pages"
# Whatever a file claims to be, no browser may run it.
NOTHING_RUNS: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
_HARMLESS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": NOTHING_RUNS,
    "Cache-Control": "private, no-store",
}


class FileGone(Refused):
    status = 410

    def __init__(self) -> None:
        super().__init__("file_gone", _("The bytes of this file are gone. Whoever gave it can give it again."))


class NotDrawn(Refused):
    status = 422


def download(document: Document) -> HttpResponseBase:
    """Never shown by a browser: saved under its name."""
    return streamed(opened(document.stored_as), size_bytes=document.size_bytes, filename=document.filename)


def opened(stored_as: str) -> IO[bytes]:
    """Raises FileGone."""
    try:
        return files.open_file(stored_as)
    except (FileNotFoundError, ValueError):
        raise FileGone from None


def streamed(
    content: IO[bytes],
    *,
    size_bytes: int,
    filename: str,
    head: bytes = b"",
    shown_as: str | None = None,
    policy: str = NOTHING_RUNS,
) -> HttpResponseBase:
    """The stream as a file to be saved under its name; with `shown_as`, a harmless type, one that a browser shows.
    `head`: what was read of it already."""
    return StreamingHttpResponse(
        _pieces(content, head),
        content_type=shown_as or "application/octet-stream",
        headers={
            **_HARMLESS,
            "Content-Security-Policy": policy,
            "Content-Length": str(size_bytes),
            "Content-Disposition": content_disposition_header(as_attachment=shown_as is None, filename=filename) or "",
        },
    )


async def _pieces(content: IO[bytes], head: bytes) -> AsyncIterator[bytes]:
    """Not whole in memory: a file that is given as it is would be, under ASGI."""
    try:
        if head:
            yield head
        while piece := await in_thread(content.read)(CHUNK_BYTES):
            yield piece
    finally:
        content.close()


def page_picture(request: HttpRequest, *, stored_as: str, key: str, number: int, width: int) -> HttpResponse:
    """A page of a PDF as a PNG; the same picture again, by the file's `key`, costs nothing but the question."""
    drawn_width = next((step for step in WIDTHS if step >= width), WIDTHS[-1])
    etag = f'"{key[-32:]}-{number}-{drawn_width}"'
    headers = {**_HARMLESS, "ETag": etag}
    if etag in parse_etags(request.headers.get("If-None-Match", "")):
        return HttpResponse(status=304, headers=headers)
    picture = pictures.find(stored_as, etag)
    if picture is None:
        picture = _draw(stored_as, number, drawn_width)
        pictures.keep(stored_as, etag, picture)
        if not files.exists(stored_as):
            # Deleted while it was drawn.
            pictures.forget(stored_as)
    return HttpResponse(picture, content_type="image/png", headers=headers)


def pages_of(stored_as: str) -> int | None:
    """How many pages a PDF has; None where that cannot be told now. It is kept with the pictures of them."""
    if known := pictures.find(stored_as, _PAGES):
        return int(known)
    if not _DRAWING.acquire(timeout=COUNTED_WITHIN_S):
        return None
    try:
        with files.on_this_disk(stored_as) as path:
            count = page_count(path)
    except (FileNotFoundError, IndexError, Unreadable):
        return None
    finally:
        _DRAWING.release()
    pictures.keep(stored_as, _PAGES, str(count).encode())
    if not files.exists(stored_as):
        # Deleted while they were counted.
        pictures.forget(stored_as)
    return count


def _draw(stored_as: str, number: int, width: int) -> bytes:
    if not _DRAWING.acquire(timeout=DRAWN_WITHIN_S):
        raise NotDrawn("busy", _("Many pages are being drawn just now. Try again in a moment."))
    try:
        with files.on_this_disk(stored_as) as path:
            return page_image(path, number, width=width)
    except FileNotFoundError:
        raise FileGone from None
    except Unreadable as refusal:
        raise NotDrawn(refusal.code, refusal.message) from None
    except IndexError:
        raise NotThere from None
    finally:
        _DRAWING.release()
