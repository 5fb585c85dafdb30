"""A process that is copied from the template (`tests.template`) is what one that was started is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from hyperagent.lib.conf import BASE_DIR
from tests import template

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process is started"),
]
# What a process can find out about itself.
LOOKS_AROUND = """
import json, os, random, signal, sys, threading
from django.conf import settings
from django.db import connections
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "flags": list(sys.flags),
    "main": os.path.abspath(sys.modules["__main__"].__file__), "executable": sys.executable,
    "cwd": os.getcwd(), "parent": os.getppid(), "session": os.getsid(0),
    "group": os.getpgrp(), "nice": os.nice(0), "env": dict(os.environ), "name": open("/proc/self/comm").read(),
    "database": settings.DATABASES["default"]["NAME"], "connected": connections["default"].connection is not None,
    "threads": threading.active_count(), "files": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(one)) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "stdout": [sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering],
    "stderr": [sys.stderr.encoding, sys.stderr.errors, sys.stderr.line_buffering],
    "chance": random.random(), "copied": "litellm" in sys.modules,
}))
"""


def command(program: str) -> list[str]:
    return [sys.executable, "manage.py", "shell", "-v0", "-c", program]


def looked_around(by: Any = template.Process, **more: str) -> dict[str, Any]:
    env = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/elsewhere", "COLOUR": "blue", **more}
    with by(command(LOOKS_AROUND), cwd=BASE_DIR, env=env, stdout=subprocess.PIPE) as process:
        said: dict[str, Any] = json.loads(process.stdout.read())
    assert process.returncode == 0
    return said


@pytest.mark.slow
def test_a_copy_finds_of_itself_what_a_started_process_finds() -> None:
    started, copy, another = looked_around(subprocess.Popen), looked_around(), looked_around()

    assert (started.pop("copied"), copy.pop("copied"), another.pop("copied")) == (False, True, True)
    assert len({each.pop("chance") for each in (started, copy, another)}) == 3
    assert copy == another == started
    assert (copy["parent"], copy["database"]) == (os.getpid(), "elsewhere")


@pytest.mark.slow
def test_it_is_known_by_its_command_line_and_ends_as_it_wants_or_as_it_is_told() -> None:
    waits = "import sys; print('here', flush=True); sys.exit(int(sys.stdin.readline()))"

    for end, status in ((lambda process: process.communicate(b"7\n"), 7), (template.Process.kill, -signal.SIGKILL)):
        with template.Process(
            command(waits), cwd=BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"here\n"
            assert " ".join(psutil.Process(process.pid).cmdline()).startswith(f"{sys.executable} manage.py shell -v0")
            assert psutil.Process(process.pid).ppid() == os.getpid()
            end(process)
        assert process.returncode == status


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LITELLM_LOG", "OTEL_PYTHON_CONTEXT", "TZ"])
def test_what_its_libraries_have_read_already_is_never_another(name: str) -> None:
    value = {"OTEL_PYTHON_CONTEXT": "contextvars_context", "TZ": "Asia/Tokyo"}.get(name, "DEBUG")

    assert not looked_around(**{name: value})["copied"]


@pytest.mark.slow
def test_output_goes_where_it_was_sent(tmp_path: Path) -> None:
    done = template.run(command("import sys; print('yes'); print('no', file=sys.stderr)"), cwd=BASE_DIR)

    assert (done.returncode, done.stdout, done.stderr) == (0, "yes\n", "no\n")
