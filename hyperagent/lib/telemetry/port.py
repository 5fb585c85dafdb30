"""A worker's `/metrics`: what its runners and jobs count, added up. They write it into files of a folder, so that what
a process counted outlives it, and the worker reads them when it is asked. Of those that have ended there is one file of
each kind: the queue begins a new process after some hundred jobs."""

import fcntl
import hmac
import os
import shutil
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
SILENT_S: Final = 10.0
LOCK_NAME: Final = "lock"
# No process has this number.
ENDED: Final = 0
_Start = Callable[..., Any]


class MetricsPort:
    """Serves from `start` to `stop`. Other machines are answered only where a token guards it."""

    def __init__(self, port: int, *, folder: Path, token: str) -> None:
        self.folder = folder
        self._token = token
        self._port = port
        self._server: WSGIServer | None = None
        self._reading = threading.Lock()
        self._held = -1

    @property
    def env(self) -> dict[str, str]:
        """What the processes need that shall count here; from their very start."""
        return {FOLDER_VARIABLE: str(self.folder)}

    @property
    def port(self) -> int:
        return self._port if self._server is None else int(self._server.server_port)

    def start(self) -> None:
        """Raises OSError where the port is taken."""
        self._held = _made_and_held(self.folder)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=str(self.folder))  # type: ignore[no-untyped-call]
        host = "0.0.0.0" if self._token else "127.0.0.1"
        self._server = make_server(
            host, self._port, self._guarded(make_wsgi_app(registry)), server_class=_Server, handler_class=_Silent
        )
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def _guarded(self, app: Any) -> Any:
        expected = f"Bearer {self._token}".encode()

        def answer(environ: dict[str, Any], start: _Start) -> Iterable[bytes]:
            given = str(environ.get("HTTP_AUTHORIZATION", "")).encode()
            if self._token and not hmac.compare_digest(given, expected):
                start("403 Forbidden", [("Content-Type", "text/plain")])
                return [b"Metrics are given to METRICS_TOKEN."]
            if environ.get("PATH_INFO") != "/metrics":
                start("404 Not Found", [("Content-Type", "text/plain")])
                return [b"There is /metrics here."]
            with self._reading:
                add_up_ended(self.folder)
                found: Iterable[bytes] = app(environ, start)
            return found

        return answer


def _made_and_held(folder: Path) -> int:
    """The descriptor that holds a fresh folder until its worker ends, however it ends. Those beside it that nobody
    holds are of workers that were killed, and go. Raises OSError."""
    kind = folder.name.partition("-")[0]
    folder.parent.mkdir(parents=True, exist_ok=True)
    # One after the other: a folder that is just being made is not held yet.
    turn = _locked(folder.with_name(f"{kind}.lock"), fcntl.LOCK_EX)
    try:
        # Those of a version that held none stay, for it may be at work yet.
        for lock in folder.parent.glob(f"{kind}-*/{LOCK_NAME}"):
            with suppress(BlockingIOError):
                held = _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
                os.close(held)
        folder.mkdir()
        return _locked(folder / LOCK_NAME, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(turn)


def _locked(path: Path, how: int) -> int:
    """Raises BlockingIOError where another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def add_up_ended(folder: Path) -> None:
    """Moves what processes counted that have ended into the file of all of those: counts are only ever added up."""
    for path in folder.glob("*.db"):
        kind, _, number = path.stem.partition("_")
        if number.isdigit() and int(number) != ENDED and not _lives(int(number)):
            counted = list(MmapedDict.read_all_values_from_file(path))  # type: ignore[no-untyped-call]
            sums = MmapedDict(folder / f"{kind}_{ENDED}.db")  # type: ignore[no-untyped-call]
            for key, value, *_ in counted:
                sums.write_value(key, sums.read_value(key)[0] + value, 0.0)  # type: ignore[no-untyped-call]
            sums.close()  # type: ignore[no-untyped-call]
            path.unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _Server(ThreadingMixIn, WSGIServer):
    """Whoever connects and says nothing holds up nobody else, nor the end of the worker."""

    daemon_threads = True


class _Silent(WSGIRequestHandler):
    timeout = SILENT_S

    def log_message(self, *_: Any) -> None:
        """Asked every few seconds by those who watch us."""
