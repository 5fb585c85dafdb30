"""A site of the web: a real HTTP server on loopback whose pages a test writes, and that remembers what was read."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Page:
    """What the server says to a GET. With an `etag` among the headers, whoever knows it is told 304."""

    body: bytes = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


Given = Page | bytes | str | Callable[[BaseHTTPRequestHandler], Page]


class Web:
    def __init__(self) -> None:
        self.pages: dict[str, Given] = {}
        self.read: list[tuple[str, dict[str, str]]] = []
        self.leave = threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                web.read.append((self.path, headers))
                page = web._page(self)
                if page.headers.get("etag") and headers.get("if-none-match") == page.headers["etag"]:
                    page = Page(b"", 304, headers=page.headers)
                self.send_response(page.status)
                self.send_header("content-type", page.content_type)
                self.send_header("content-length", str(len(page.body)))
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(page.body)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """Whoever reads may hang up."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def paths(self) -> list[str]:
        return [path for path, _ in self.read]

    def hang(self, _: BaseHTTPRequestHandler) -> Page:
        """Says nothing until the test is over."""
        self.leave.wait(60)
        return Page()

    def stop(self) -> None:
        self.leave.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _page(self, handler: BaseHTTPRequestHandler) -> Page:
        match self.pages.get(handler.path):
            case None:
                return Page(b"nothing here", 404, "text/plain")
            case str() as text:
                return Page(text.encode())
            case bytes() as body:
                return Page(body)
            case Page() as page:
                return page
            case make:
                return make(handler)


@contextmanager
def silent(address: str, port: int) -> Iterator[None]:
    """A place that answers no connection, as one behind a line that leads nowhere: its queue is full."""
    with socket.socket() as listener, socket.socket() as one, socket.socket() as other:
        listener.bind((address, port))
        listener.listen(0)
        for comer in (one, other):
            comer.setblocking(False)
            comer.connect_ex((address, port))
        yield
