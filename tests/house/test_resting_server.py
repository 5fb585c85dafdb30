"""The web server that does nothing while nobody is connected, and holds nothing then, on a process of its own."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import unix_connect

from tests.house.serving import serving
from tests.house.waiting import until

# Daphne would have looked four times: each second after its applications, every two after its time-outs.
REST_S = 3.5


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "web"


@pytest.fixture
def served(socket: Path) -> Iterator[httpx.Client]:
    with serving("tests.house.resting", socket) as client:
        yield client


def looks(served: httpx.Client) -> int:
    return int(served.get("/").text)


@pytest.mark.slow
def test_it_looks_after_nobody_and_after_whoever_comes_once_it_has_rested(served: httpx.Client) -> None:
    time.sleep(REST_S)
    assert looks(served) == 0

    assert served.get("/never").status_code == 503

    seen = looks(served)
    assert seen > 0
    time.sleep(REST_S)
    assert looks(served) <= seen + 2
    assert served.get("/never").status_code == 503


def test_of_a_websocket_that_was_closed_nothing_is_left(served: httpx.Client, socket: Path) -> None:
    def held() -> int:
        return int(served.get("/held").text)

    for _ in range(3):
        with unix_connect(str(socket), uri="ws://web/"):
            assert held() > 0

    until(lambda: held() == 0, what="the last websocket to be freed", timeout_s=10)
