"""A server that answers by script, whatever it is told: for what no decent server does."""

import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

HANG_UP = ""
GREETING = "220 rude"
SMTP_UP_TO_DATA = (GREETING, "250 hello", "250 from", "250 to", "354 go on")


class Rude:
    """Says the first line at once, and one more for each line that it is told; HANG_UP does not wait for one.

    After a `354` it reads up to the single dot first. `heard` has every line that it was told.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self.heard: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._thread.join(5)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _serve(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as told:
            for number, line in enumerate(self._lines):
                if number and line != HANG_UP and not self._hear(told.readline()):
                    return
                if number and self._lines[number - 1].startswith("354"):
                    while self.heard[-1:] != ["."] and self._hear(told.readline()):
                        pass
                if line == HANG_UP:
                    return
                connection.sendall(line.encode() + b"\r\n")

    def _hear(self, line: bytes) -> bool:
        self.heard.append(line.decode(errors="replace").rstrip("\r\n"))
        return bool(line)
