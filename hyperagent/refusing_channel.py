"""What the web server itself does not take, and how it says so: as the API says what it does not take, and before the
rest is heard. Twisted ends a connection without a word where a request's head is too long, as that of a search for a
whole page of text is, and with a bare 400 where it is none.
"""

import json
from typing import Any

from twisted.web.http import HTTPChannel

# To read what is said before the connection ends, while what is still sent is dropped.
LINGERING_S = 2
_ANSWER = (
    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
)


def refuse(channel: Any, status: str, code: str, message: str) -> None:
    """`channel`: Twisted's, of the request. Whoever calls it drops what is heard after it."""
    body = json.dumps({"error": {"code": code, "message": message}})
    channel.transport.write(_ANSWER.format(status=status, length=len(body), body=body).encode())
    channel.callLater(LINGERING_S, channel.loseConnection)


class RefusingChannel(HTTPChannel):
    _is_refused = False

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's
        if not self._is_refused:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def lineReceived(self, line: bytes) -> bool | None:  # noqa: N802 - Twisted's
        if self._receivedHeaderSize + len(line) <= self.totalHeadersSize:
            super().lineReceived(line)  # type: ignore[no-untyped-call]
            return None
        return self._refuse("431 Request Header Fields Too Large", f"headers have at most {self.totalHeadersSize:,}")

    def lineLengthExceeded(self, line: bytes) -> bool:  # noqa: N802 - Twisted's
        if self._receivedHeaderSize:
            return self._refuse("431 Request Header Fields Too Large", f"header has at most {self.MAX_LENGTH:,}")
        return self._refuse("414 URI Too Long", f"address has at most {self.MAX_LENGTH:,}")

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802 - Twisted's
        framing = "its first line, its headers and how its body is framed"
        self._say("400 Bad Request", "bad_request", f"This is no request as HTTP/1.1 has them. Look at {framing}.")

    def _refuse(self, status: str, said: str) -> bool:
        """True, by which Twisted hears no other line of what has come."""
        self._say(status, "too_large", f"A request's {said} bytes here. Send what is long in its body.")
        return True

    def _say(self, status: str, code: str, message: str) -> None:
        self._is_refused, self._buffer = True, b""
        refuse(self, status, code, message)
