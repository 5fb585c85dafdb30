"""The relay that is carried into boxes of others, as a process."""

import base64
import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agents.sandbox.remote import inside


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        yield server


def relay_to(server: socket.socket) -> "subprocess.Popen[bytes]":
    order = base64.b64encode(json.dumps({"do": "relay", "port": server.getsockname()[1]}).encode()).decode()
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, inside.__file__, order], stdin=pipe, stdout=pipe)


def test_who_has_ended_their_question_is_answered(listening: socket.socket) -> None:
    with relay_to(listening) as relay:
        connection, _ = listening.accept()
        with connection:
            assert relay.stdin
            relay.stdin.write(b"hello")
            relay.stdin.close()
            heard = b"".join(iter(lambda: connection.recv(100), b""))
            connection.sendall(heard.upper())
        assert relay.stdout
        assert relay.stdout.read() == b"+HELLO"


@pytest.mark.slow
def test_an_app_that_never_answers_keeps_no_relay_once_nobody_asks(listening: socket.socket) -> None:
    with relay_to(listening) as relay:
        connection, _ = listening.accept()
        assert relay.stdin
        relay.stdin.close()

        relay.wait(15)
        connection.close()
