"""The project's files over HTTP, for pages that need no server of ours."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Files(SimpleHTTPRequestHandler):
    # A page reads a hundred modules: by few connections, and each in one piece.
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20
    # The system's table of types may not know these, and a module of another type is not run.
    extensions_map = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".css": "text/css"}

    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""

    def translate_path(self, path: str) -> str:
        """The product's pages name their files with a version (`hyperagent.static_files`)."""
        return super().translate_path(re.sub(r"^/static/~[0-9a-f]{12}/", "/static/", path))


@contextmanager
def served(handler: Callable[..., Files] = Files) -> Iterator[str]:
    """The address of a server of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(ROOT)))
    # It looks ten times a second whether it shall stop.
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
