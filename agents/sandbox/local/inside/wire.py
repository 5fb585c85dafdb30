"""How a keeper and whoever holds its box speak: one message at a time over a pair of sockets that keeps messages apart,
with open files beside it.

Orders go in as Python values: the keeper trusts its holder. What comes out is one line of words, read word by word: a
holder trusts nobody in a box.
"""

from __future__ import annotations

import marshal
from _socket import CMSG_SPACE, MSG_CMSG_CLOEXEC, SCM_RIGHTS, SOL_SOCKET
from sys import byteorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Sequence
    from typing import Any, Final

    Order = dict[str, Any]

MOST_BYTES: Final = 192 << 10
_MOST_FDS: Final = 64
# Read by every Python that can run a keeper.
_FORMAT: Final = 2
_FD_BYTES: Final = 4
_WORDS: Final = 5


class Told:
    """One line of a keeper. `kind`: ready, failed, answer or over.  `number`: of the order, or of the program that is
    over.  `status`: the program's, or None.  `text`: a refusal, why it is over, or nothing."""

    __slots__ = ("kind", "number", "seconds", "status", "text")

    def __init__(
        self, kind: str, number: int = 0, *, status: int | None = None, seconds: float = 0, text: str = ""
    ) -> None:
        self.kind = kind
        self.number = number
        self.status = status
        self.seconds = seconds
        self.text = text

    def packed(self) -> bytes:
        status = "-" if self.status is None else str(self.status)
        line = f"{self.kind} {self.number} {status} {self.seconds:.4f} {self.text}"
        return line.encode("utf-8", "backslashreplace")[:MOST_BYTES]


def told(line: bytes) -> Told:
    """Raises ValueError for what no keeper says."""
    words = line.decode("utf-8", "replace").split(" ", _WORDS - 1)
    if len(words) != _WORDS:
        raise ValueError(f"no line of a keeper: {line[:80]!r}")
    kind, number, status, seconds, text = words
    return Told(kind, int(number), status=None if status == "-" else int(status), seconds=float(seconds), text=text)


def packed_order(order: Order) -> bytes:
    return marshal.dumps(order, _FORMAT)


def unpacked_order(text: bytes) -> Order:
    """Of the keeper's holder only: who can send these bytes can do with the reader what he likes."""
    order: Order = marshal.loads(text)  # noqa: S302 - see above
    return order


def send(channel: socket, text: bytes, fds: Sequence[int] = ()) -> None:
    beside = b"".join(fd.to_bytes(_FD_BYTES, byteorder) for fd in fds)
    channel.sendmsg([text], [(SOL_SOCKET, SCM_RIGHTS, beside)] if fds else [])


def receive(channel: socket) -> tuple[bytes, list[int]] | None:
    """None at the end. The files are not inherited by what is started later. Raises BlockingIOError, OSError."""
    text, beside, _, _ = channel.recvmsg(MOST_BYTES, CMSG_SPACE(_MOST_FDS * _FD_BYTES), MSG_CMSG_CLOEXEC)
    if not text:
        return None
    fds = [
        int.from_bytes(content[start : start + _FD_BYTES], byteorder)
        for level, kind, content in beside
        if level == SOL_SOCKET and kind == SCM_RIGHTS
        for start in range(0, len(content) - len(content) % _FD_BYTES, _FD_BYTES)
    ]
    return text, fds
