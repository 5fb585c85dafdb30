"""The web server that does nothing while nobody is connected, on a process of its own."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.house.waiting import until

# Daphne would have looked four times: each second after its applications, every two after its time-outs.
REST_S = 3.5


@pytest.fixture
def served(tmp_path: Path) -> Iterator[httpx.Client]:
    socket = tmp_path / "web"
    process = subprocess.Popen([sys.executable, "-m", "tests.house.resting", str(socket)])
    try:
        until(socket.exists, what="the server's socket")
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://web", timeout=30) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)


def looks(served: httpx.Client) -> int:
    return int(served.get("/").text)


def test_it_looks_after_nobody_and_after_whoever_comes_once_it_has_rested(served: httpx.Client) -> None:
    time.sleep(REST_S)
    assert looks(served) == 0

    assert served.get("/never").status_code == 503

    seen = looks(served)
    assert seen > 0
    time.sleep(REST_S)
    assert looks(served) <= seen + 2
    assert served.get("/never").status_code == 503
