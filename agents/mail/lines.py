"""Connections to mail servers: with care to those that a person named, and bounded in time and bytes as a whole, for a
server that sends a little now and then passes every limit on a single answer. Blocking; for a thread.
"""

import imaplib
import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from threading import Timer
from typing import Any, Final

from django.conf import settings

from hyperagent.lib.mail_servers import MailServer
from hyperagent.lib.outside import sockets

IMAP_PORTS: Final = (993, 143)
SMTP_PORTS: Final = (465, 587, 2525)
MOST_BYTES: Final = 80_000_000
ANSWERS_BYTES: Final = 1_000_000
"""Of all that an SMTP server says."""
PIECE_BYTES: Final = 65_536


def socket_to(server: MailServer, *, timeout_s: float) -> socket.socket:
    """Raises OSError, InsideServer among them: a person's server has to be a public one."""
    is_free = bool(server.setting) or settings.MAIL_ALLOW_PRIVATE
    return sockets.connected(server.host, server.port, timeout_s=timeout_s, allow_private=is_free)


class Lifetime:
    """Ends a connection after so many seconds, whatever it is wrapped in by then."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._spare = connection.dup()
        self._timer = Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        self._timer.cancel()
        self._spare.close()

    def _cut(self) -> None:
        with suppress(OSError):
            self._spare.shutdown(socket.SHUT_RDWR)
        self._spare.close()


def pieces(text: bytes) -> Iterator[bytes]:
    """Each is handed over within a time-out of its own. That of a whole mail would be over while the line is busy."""
    for at in range(0, len(text), PIECE_BYTES):
        yield text[at : at + PIECE_BYTES]


class Imap(imaplib.IMAP4):
    """`context`: for a server that speaks TLS from the first byte on. `life_s`: of the connection."""

    def __init__(self, server: MailServer, *, timeout_s: float, life_s: float, context: ssl.SSLContext | None) -> None:
        self._server = server
        self._context = context
        self._life_s = life_s
        self._left = MOST_BYTES
        self._lifetime: Lifetime | None = None
        super().__init__(server.host, server.port, timeout_s)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        raw = socket_to(self._server, timeout_s=timeout or 0)
        self._lifetime = Lifetime(raw, self._life_s)
        return self._context.wrap_socket(raw, server_hostname=self._server.host) if self._context else raw

    def send(self, data: Any) -> None:
        for piece in pieces(bytes(data)):
            super().send(piece)

    def read(self, size: int) -> bytes:
        self._take(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._take(len(line))
        return line

    def shutdown(self) -> None:
        if self._lifetime is not None:
            self._lifetime.end()
        super().shutdown()

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise self.error("more than is read")


class Smtp(smtplib.SMTP):
    """The same for an SMTP server."""

    def __init__(
        self, server: MailServer, hello: str, *, timeout_s: float, life_s: float, context: ssl.SSLContext | None
    ) -> None:
        self._server = server
        self._context = context
        self._life_s = life_s
        self._left = ANSWERS_BYTES
        self._lifetime: Lifetime | None = None
        super().__init__(server.host, server.port, hello, timeout=timeout_s)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        raw = socket_to(self._server, timeout_s=timeout)
        self._lifetime = Lifetime(raw, self._life_s)
        return self._context.wrap_socket(raw, server_hostname=self._server.host) if self._context else raw

    def send(self, s: Any) -> None:
        for piece in [s] if isinstance(s, str) else pieces(bytes(s)):
            super().send(piece)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Counted(self.sock.makefile("rb"), self)
        return super().getreply()

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise smtplib.SMTPException("more than is read")

    def close(self) -> None:
        if self._lifetime is not None:
            self._lifetime.end()
        super().close()


class _Counted:
    """What the library reads answers from."""

    def __init__(self, file: Any, smtp: Smtp) -> None:
        self._file = file
        self._smtp = smtp

    def readline(self, limit: int) -> bytes:
        line: bytes = self._file.readline(limit)
        self._smtp.take(len(line))
        return line

    def close(self) -> None:
        self._file.close()
