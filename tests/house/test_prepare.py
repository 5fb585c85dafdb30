"""`manage.py prepare` and a database that is not there yet."""

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from hyperagent.embedded import instance
from hyperagent.lib.conf import BASE_DIR

pytestmark = [pytest.mark.slow]


def prepare(port: int, *options: str) -> subprocess.CompletedProcess[str]:
    url = f"postgresql://somebody:word@127.0.0.1:{port}/nothing"
    env = {**os.environ, "DATABASE_URL": url, "ENV_FILE": os.devnull}
    command = [sys.executable, "manage.py", "prepare", *options]
    return subprocess.run(command, cwd=BASE_DIR, env=env, capture_output=True, text=True, check=False)


def test_one_that_does_not_answer_is_told_at_once_without_its_password() -> None:
    done = prepare(instance.free_port())

    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert "word" not in done.stderr


def test_one_that_is_starting_is_waited_for() -> None:
    """What answers on its port after a while refuses everybody: that it was asked is what is looked at."""
    port, asked = instance.free_port(), threading.Event()

    def begin_late() -> None:
        time.sleep(2)
        with socket.create_server(("127.0.0.1", port)) as server:
            server.settimeout(30)
            with suppress(OSError):
                server.accept()[0].close()
                asked.set()

    late = threading.Thread(target=begin_late)
    late.start()
    done = prepare(port, "--wait", "8")
    late.join()

    assert asked.is_set()
    assert (done.returncode, "does not answer" in done.stderr) == (1, True)
