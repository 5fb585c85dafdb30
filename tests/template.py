"""Processes of the product that begin as copies of one that has read its libraries: two seconds of work less for each.

`Process` is a `subprocess.Popen`, and what it makes is what that makes: a child of this process with a pid, files,
environment and command line of its own. But where `Popen` has an interpreter read two thousand modules anew, this
process's template forks. It has read libraries only: no line of the product, no setting, and it has no thread, no
connection and no loop. What the product reads when it starts, each copy reads for itself.

Tests of starting itself (`manage.py up`, `doctor`, `prepare` ...) use `subprocess`, and so does every supervisor.
"""

import ctypes
import gc
import importlib
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
# What takes longest to import, of what can be imported without Django's settings. Not prometheus_client, which decides
# by the environment what it is; not Daphne's server, which makes a loop; not numpy, which makes threads.
LIBRARIES: Final = (
    "litellm",
    "autobahn.twisted",
    "channels.generic.websocket",
    "csp.middleware",
    "cryptography.fernet",
    "django.contrib.admin",
    "django.contrib.postgres.apps",
    "django.core.asgi",
    "django.core.management",
    "django.db.backends.postgresql.base",
    "django.middleware.locale",
    "django_structlog.middlewares",
    "environ",
    "h11",
    "imaplib",
    "jsonschema",
    "multiprocessing.sharedctypes",
    "orjson",
    "pgvector.django",
    "psycopg_pool",
    "redis.asyncio",
    "stamina",
    "statistics",
    "structlog",
    "twisted.web.http",
    "websockets.client",
    "whitenoise.middleware",
)
# As the product imports LiteLLM.
FOR_LITELLM: Final = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DISABLE_AIOHTTP_TRANSPORT": "True"}
# What the interpreter and these libraries read once. A process that wants another of it is started by `exec`.
READ_ONCE: Final = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "LITELLM_", "OTEL_", "AIOHTTP_", "PYDANTIC_", "NO_COLOR")
# Room for the command lines of the copies.
ROOM: Final = "." * 4096
MAX_ORDER: Final = 1 << 17
PR_SET_CHILD_SUBREAPER = 36
PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


class Process(subprocess.Popen[Any]):
    """What the template cannot do is done as `Popen` does it."""

    def _execute_child(self, *args: Any, **kwargs: Any) -> None:
        # Named, because their number and order is another in each Python.
        asked = inspect.signature(super()._execute_child).bind(*args, **kwargs).arguments  # type: ignore[misc]
        env: Mapping[str, str] = os.environ if asked["env"] is None else asked["env"]
        command = asked["args"]
        is_plain = not any(asked[name] for name in ("pass_fds", "preexec_fn", "start_new_session"))
        if not (is_plain and _is_known(command, env)):
            super()._execute_child(*args, **kwargs)  # type: ignore[misc]
            return
        order = {
            "program": [os.fspath(word) for word in command],
            "env": dict(env),
            "cwd": os.fspath(asked["cwd"] or Path.cwd()),
            "parent": os.getpid(),
        }
        own = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        self.pid = _template().copy(order, [place if one == -1 else one for place, one in enumerate(own)])
        self._child_created = True
        self._close_pipe_fds(*(asked[name] for name in PIPES))  # type: ignore[attr-defined]


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` with `capture_output=True, text=True, check=False`."""
    with Process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        said, complained = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


def _is_known(command: Any, env: Mapping[str, str]) -> bool:
    return (
        sys.platform == "linux"
        and isinstance(command, list | tuple)
        and command[0] == sys.executable
        and command[1] in ("manage.py", "-m")
        and _read_once(env) == _read_once(os.environ)
    )


def _read_once(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_ONCE)}


class _Template:
    """This process's end: it orders copies, and ends the template by being gone."""

    def __init__(self) -> None:
        self._orders, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with other:
            command = (sys.executable, "-m", __name__, str(other.fileno()), ROOM)
            # Kept, because `Popen` warns of one that is forgotten.
            self._process = subprocess.Popen(
                command, cwd=ROOT, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )

    def copy(self, order: dict[str, Any], files: Sequence[int]) -> int:
        """The copy's pid. Whoever made it has ended by then, and this process has it for its child instead."""
        with self._lock:
            _have_orphans(True)
            try:
                socket.send_fds(self._orders, [json.dumps(order).encode()], files)
                return int(self._orders.recv(32))
            finally:
                _have_orphans(False)


_ours: dict[int, _Template] = {}
_making = threading.Lock()


def _template() -> _Template:
    with _making:
        # By pid: a process that was forked from one with a template must not share it.
        if os.getpid() not in _ours:
            _ours[os.getpid()] = _Template()
        return _ours[os.getpid()]


def _have_orphans(yes: bool) -> None:
    """Whether a process below this one whose parent ends becomes this one's child."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


# --- in the template


def main() -> None:
    # Whoever types Ctrl-C means the tests, with which the template ends.
    inherited = signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=int(sys.argv[1]))
    os.environ.update(FOR_LITELLM)
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1
    order = _serve(orders)
    if order is not None:
        signal.signal(signal.SIGINT, inherited)
        _become(order)


def _serve(orders: socket.socket) -> dict[str, Any] | None:
    """Returns in each copy, with what it is to be; and in the template, with None, when nobody can order any more."""
    while True:
        said, files, _, _ = socket.recv_fds(orders, MAX_ORDER, 3)
        if not said:
            return None
        reading, writing = os.pipe()
        between = os.fork()
        if not between:
            if pid := os.fork():
                os.write(writing, str(pid).encode())
                os._exit(0)
            order: dict[str, Any] = json.loads(said)
            deadline = time.monotonic() + 10
            while os.getppid() != order["parent"]:
                if time.monotonic() > deadline:
                    os._exit(1)
                time.sleep(0.001)
            for place, file in enumerate(files):
                os.dup2(file, place)
            orders.detach()
            os.closerange(3, max(int(open_file.name) for open_file in Path("/proc/self/fd").iterdir()) + 1)
            return order
        os.close(writing)
        pid_of_copy = os.read(reading, 32)
        os.waitpid(between, 0)
        for file in (reading, *files):
            os.close(file)
        orders.send(pid_of_copy)


def _become(order: dict[str, Any]) -> None:
    """From here on as `python manage.py …` and `python -m hyperagent.web …` begin."""
    _call_it(order["program"])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    # Nothing was written or read yet; how they are buffered hangs on what they are now.
    sys.stdout.reconfigure(line_buffering=os.isatty(1))  # type: ignore[union-attr]
    _, *words = order["program"]
    if words[0] == "-m":
        sys.path[0] = order["cwd"]
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(words[0]).resolve().parent)
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def _call_it(program: Sequence[str]) -> None:
    """What `ps` shows: written over the template's own command line, in the way of setproctitle(3)."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    line = os.fsencode(" ".join(program))[: end - start - 2]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, line, len(line))
    # The kernel then knows that one text is meant, and not words.
    ctypes.memset(end - 1, ord("."), 1)


if __name__ == "__main__":
    main()
