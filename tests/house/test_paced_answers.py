"""Answers of the web server that are read slowly, or cannot be given to their end, on a process of its own."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.house.paced import PIECE, PIECES
from tests.house.serving import serving
from tests.house.waiting import until


@pytest.fixture
def served(tmp_path: Path) -> Iterator[httpx.Client]:
    with serving("tests.house.paced", tmp_path / "web") as client:
        yield client


def test_an_answer_that_is_not_read_waits_where_it_comes_from(served: httpx.Client) -> None:
    def stands_still() -> bool:
        before = served.get("/sent").text
        time.sleep(0.3)
        return before == served.get("/sent").text != "0"

    with served.stream("GET", "/flood") as flood:
        until(stands_still, what="the answer to be held back")
        held = int(served.get("/sent").text)
        whole = sum(map(len, flood.iter_bytes()))

    assert held < 20 * len(PIECE)
    assert whole == PIECES * len(PIECE)


@pytest.mark.parametrize("path", ["/cut", "/falls"])
def test_who_reads_an_answer_that_breaks_off_sees_that_there_was_more(served: httpx.Client, path: str) -> None:
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        served.get(path)

    # And the server goes on to look after its connections.
    until(lambda: served.get("/known").text == "1", what="the broken connection to be forgotten", timeout_s=10)
