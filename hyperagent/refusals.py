"""What the web server itself does not take, and how it says so: as the API says what it does not take, and before the
rest is heard. Twisted ends a connection without a word where a request's head is too long, as that of a search for a
whole page of text is.
"""

import json

from twisted.web.http import HTTPChannel

# To read what is said before the connection ends, while what is still sent is dropped.
LINGERING_S = 2
_ANSWER = (
    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
)


def refuse(channel: HTTPChannel, status: str, code: str, message: str) -> None:
    """Whoever calls it drops what is heard after it."""
    body = json.dumps({"error": {"code": code, "message": message}})
    channel.transport.write(_ANSWER.format(status=status, length=len(body), body=body).encode())
    channel.callLater(LINGERING_S, channel.loseConnection)


class RefusingChannel(HTTPChannel):  # type: ignore[misc]
    def lineReceived(self, line: bytes) -> bool | None:  # noqa: N802 - Twisted's
        if self._receivedHeaderSize + len(line) <= self.totalHeadersSize:
            super().lineReceived(line)
            return None
        return self._refuse("431 Request Header Fields Too Large", f"headers have at most {self.totalHeadersSize:,}")

    def lineLengthExceeded(self, line: bytes) -> bool:  # noqa: N802 - Twisted's
        if self._receivedHeaderSize:
            return self._refuse("431 Request Header Fields Too Large", f"header has at most {self.MAX_LENGTH:,}")
        return self._refuse("414 URI Too Long", f"address has at most {self.MAX_LENGTH:,}")

    def _refuse(self, status: str, said: str) -> bool:
        """True, by which Twisted hears no other line of what has come."""
        self.dataReceived = lambda data: None
        refuse(self, status, "too_large", f"A request's {said} bytes here. Send what is long in its body.")
        return True
