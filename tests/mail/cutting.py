"""A server's door that is shut in its face: what it is told gets there, one of its answers does not."""

import socket
import socketserver
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class Cutting:
    """Use as a context manager. Passes everything on to the server at `port` of this machine and back, and hangs up
    instead of an answer with `word` in it."""

    def __init__(self, port: int, *, word: bytes) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection(("127.0.0.1", port)) as server:
                    told = threading.Thread(target=_pass_on, args=(self.request, server), daemon=True)
                    told.start()
                    while (said := server.recv(65_536)) and word not in said:
                        self.request.sendall(said)
                    with suppress(OSError):
                        self.request.shutdown(socket.SHUT_RDWR)
                    told.join(5)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])


def _pass_on(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while told := client.recv(65_536):
            server.sendall(told)
        server.shutdown(socket.SHUT_WR)
