"""A web server of a test's own: a module of `tests.house` on a socket, and a client of it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.house.waiting import until


@contextmanager
def serving(module: str, socket: Path) -> Iterator[httpx.Client]:
    process = subprocess.Popen([sys.executable, "-m", module, str(socket)])
    try:
        until(socket.exists, what="the server's socket")
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://web", timeout=30) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)
