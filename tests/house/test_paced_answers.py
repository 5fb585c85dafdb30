"""Answers of the web server that are read slowly, or cannot be given to their end, on a process of its own."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import unix_connect

from hyperagent.eager_sockets import MOST_HEARD_BYTES
from tests.house.paced import MOST_ASKED, PIECE, PIECES
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


@pytest.mark.slow
def test_a_websocket_that_is_not_read_holds_up_who_speaks_on_it(served: httpx.Client, tmp_path: Path) -> None:
    def stands_still() -> bool:
        before = served.get("/sent").text
        time.sleep(0.3)
        return before == served.get("/sent").text != "0"

    # What is not read waits here only as far as the kernel holds it: in neither queue of the client.
    with unix_connect(str(tmp_path / "web"), max_queue=1, max_size=None) as browser:
        until(stands_still, what="the websocket to be held back")
        held = int(served.get("/sent").text)
        whole = sum(len(message) for message in browser)

    assert held < 100 * len(PIECE)
    assert whole == PIECES * len(PIECE)


@pytest.mark.threat("T27")
@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=none-of-it"])
def test_a_form_is_the_applications_to_read(kind: str, served: httpx.Client) -> None:
    answer = served.post("/sent", content=b"no parts", headers={"Content-Type": kind})

    assert (answer.status_code, answer.text) == (200, "0")


@pytest.mark.slow
@pytest.mark.threat("T30")
@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 1000000000000\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n%b\r\n" % PIECE * (MOST_ASKED // len(PIECE) + 1),
    ],
    ids=["said before", "in pieces"],
)
def test_what_is_more_than_anything_that_is_taken_is_not_heard_to_its_end(
    body: bytes, served: httpx.Client, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "web"))
        client.sendall(b"POST /sent HTTP/1.1\r\nHost: web\r\n" + body)
        head, said = b"".join(iter(lambda: client.recv(65_536), b"")).split(b"\r\n\r\n", 1)

    assert head.startswith(b"HTTP/1.1 413 ")
    assert json.loads(said)["error"]["message"] == "A request has at most 1,000,000 bytes here. Send less at once."
    assert served.post("/sent", content=b"x" * MOST_ASKED).text == "0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "status", "said"),
    [
        (
            b"GET /sent?q=" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: web\r\n",
            414,
            "A request's address has at most 16,384",
        ),
        (b"GET /sent HTTP/1.1\r\nCookie: " + b"x" * 20_000 + b"\r\n", 431, "A request's header has at most 16,384"),
        (
            b"GET /sent HTTP/1.1\r\n" + b"".join(b"X-%d: %b\r\n" % (n, b"x" * 4_000) for n in range(5)),
            431,
            "A request's headers have at most 16,384",
        ),
    ],
    ids=["its address", "a header", "its headers"],
)
def test_a_head_that_is_too_long_is_told_so(
    head: bytes, status: int, said: str, served: httpx.Client, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "web"))
        client.sendall(head + b"\r\nGET /sent HTTP/1.1\r\nHost: web\r\n\r\n")
        first, body = b"".join(iter(lambda: client.recv(65_536), b"")).split(b"\r\n\r\n")

    assert first.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["error"] == {
        "code": "too_large",
        "message": f"{said} bytes here. Send what is long in its body.",
    }
    assert served.get("/sent").text == "0"


@pytest.mark.slow
@pytest.mark.spec("F21")
@pytest.mark.parametrize(
    "sent",
    [
        b"GET /sent\r\n\r\n\r\n",
        b"GET /sent HTTP/1.1\r\nno header\r\n\r\n",
        b"POST /sent HTTP/1.1\r\nContent-Length: few\r\n\r\n",
        b"POST /sent HTTP/1.1\r\nTransfer-Encoding: sideways\r\n\r\n",
        b"POST /sent HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ],
    ids=["no version", "no header", "no length", "an encoding that is none", "a chunk that is none"],
)
def test_what_is_no_request_is_told_so(sent: bytes, served: httpx.Client, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "web"))
        client.sendall(sent + b"GET /sent HTTP/1.1\r\nHost: web\r\n\r\n")
        head, said = b"".join(iter(lambda: client.recv(65_536), b"")).split(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(said)["error"]["code"] == "bad_request"
    assert served.get("/sent").text == "0"


@pytest.mark.spec("F21")
def test_how_long_a_message_may_be_is_for_the_application_to_say(served: httpx.Client, tmp_path: Path) -> None:
    with unix_connect(str(tmp_path / "web"), "ws://web/heard") as client:
        client.send("x" * 11_000_000)

        assert client.recv() == "11000000"


@pytest.mark.spec("F21")
@pytest.mark.parametrize(
    ("message", "code"),
    [(b"x" * (MOST_HEARD_BYTES + 1), 1009), (b"\xff\xfe", 1007)],
    ids=["more than the server holds", "no UTF-8"],
)
def test_a_message_that_the_server_does_not_take_closes_its_socket_with_the_code_for_that(
    message: bytes, code: int, served: httpx.Client, tmp_path: Path
) -> None:
    with unix_connect(str(tmp_path / "web"), "ws://web/heard") as client:
        with suppress(ConnectionClosed):  # which may come while this is still being said
            client.send(message, text=True)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv()

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/cut", "/falls"])
def test_who_reads_an_answer_that_breaks_off_sees_that_there_was_more(served: httpx.Client, path: str) -> None:
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        served.get(path)

    # And the server goes on to look after its connections.
    until(lambda: served.get("/known").text == "1", what="the broken connection to be forgotten", timeout_s=10)


def test_who_asks_for_the_head_alone_gets_no_piece_of_the_body_with_the_next_answer(
    served: httpx.Client, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "web"))
        client.sendall(b"HEAD /flood HTTP/1.1\r\nHost: web\r\n\r\n")
        client.sendall(b"GET /known HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
        first, second, body = b"".join(iter(lambda: client.recv(65_536), b"")).split(b"\r\n\r\n", 2)

    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200")
    assert PIECE not in body
