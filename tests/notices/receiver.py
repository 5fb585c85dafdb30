"""A program that receives webhooks: a real HTTP server on loopback that keeps what it got and answers as it is told."""

import base64
import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Got:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.body)
        return shown

    def is_signed_with(self, secret: str) -> bool:
        """As the convention says it, written down a second time: standardwebhooks.com, "Verifying signatures"."""
        key = base64.b64decode(secret.split("_", 1)[1])
        content = b".".join(
            [self.headers["webhook-id"].encode(), self.headers["webhook-timestamp"].encode(), self.body]
        )
        wanted = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        return wanted in self.headers["webhook-signature"].split(" ")


Answering = Callable[[BaseHTTPRequestHandler], None]


def says(status: int, text: str = "", **headers: str) -> Answering:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return answer


class Receiver:
    """`answers`: what it does with the next requests, one after the other; after them it says 204."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.got: list[Got] = []
        self.answers: list[Answering] = []
        self.leave = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.got.append(Got(self.path, headers, body))
                answer = receiver.answers.pop(0) if receiver.answers else says(204)
                answer(self)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: Any) -> None:
                """Whoever posts may hang up."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/hooks"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def hang(self, _: BaseHTTPRequestHandler) -> None:
        """Takes the request and says nothing until the test is over."""
        self.leave.wait(60)

    def drip(self, handler: BaseHTTPRequestHandler) -> None:
        """An answer that never ends, a byte now and then."""
        handler.send_response(200)
        handler.end_headers()
        while not self.leave.wait(0.2):
            handler.wfile.write(b".")
            handler.wfile.flush()

    def flood(self, handler: BaseHTTPRequestHandler) -> None:
        """An answer without end, as fast as it is taken. `flooded` counts its bytes."""
        handler.send_response(200)
        handler.end_headers()
        self.flooded = 0
        while not self.leave.is_set():
            self.flooded += handler.wfile.write(b"x" * 65_536)

    def stop(self) -> None:
        self.leave.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
