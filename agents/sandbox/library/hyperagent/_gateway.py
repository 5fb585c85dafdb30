"""The way out of the sandbox: one JSON object a line over a Unix socket, and one line back for each.

Safe for threads: each call has a connection of its own while it lasts, and so many may be under way at once.
"""

import itertools
import json
import os
import socket
import threading
from typing import Any

SOCKET = os.environ.get("HYPERAGENT_GATEWAY", "/run/hyperagent/gateway.sock")
AT_ONCE = 16
MOST_BYTES = 8 << 20
_CHUNK = 1 << 16


class ToolError(Exception):
    """A call was not carried out. The text says why, and what to do instead; `code` is for programs."""

    def __init__(self, tool: str, code: str, message: str) -> None:
        super().__init__(message)
        self.tool = tool
        self.code = code
        self.message = message


class GatewayGone(Exception):
    """The sandbox has no way out: it was started without one, or whoever answers went away."""


class _Connection:
    """Raises OSError for what is wrong with it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(SOCKET)
        self._heard = bytearray()

    def ask(self, line: bytes) -> bytes:
        self._socket.sendall(line)
        while (end := self._heard.find(b"\n")) < 0:
            more = self._socket.recv(_CHUNK)
            if not more:
                raise OSError("it was closed")
            self._heard += more
        answer = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return answer

    def close(self) -> None:
        self._socket.close()


class _Pool:
    """The connections of this process that no call uses now."""

    def __init__(self) -> None:
        self.renew()
        # A child that was forked must not read what its parent asked for.
        os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._idle: list[_Connection] = []

    def ask(self, line: bytes) -> bytes:
        with self._room:
            connection = self._idle.pop() if self._idle else _Connection()
            try:
                answer = connection.ask(line)
            except BaseException:
                # Also where the script was interrupted: the answer may still come, and would be taken for another's.
                connection.close()
                raise
            self._idle.append(connection)
            return answer


_pool = _Pool()
_numbers = itertools.count(1)


def call(tool: str, /, **arguments: Any) -> Any:
    """Calls one of the agent's tools by its name, and gives its value. Raises ToolError, GatewayGone."""
    token = os.environ.get("HYPERAGENT_TOKEN", "")
    if not token:
        raise GatewayGone("This program was started without a way out of the sandbox: only scripts have one.")
    asked = {"id": next(_numbers), "token": token, "tool": tool, "arguments": arguments}
    try:
        line = json.dumps(asked, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise ToolError(tool, "bad_arguments", f"The arguments of {tool} are no JSON: {error}.") from None
    if len(line) > MOST_BYTES:
        raise ToolError(tool, "too_long", f"The arguments of {tool} take {len(line):,} bytes; at most {MOST_BYTES:,}.")
    return _value_of(tool, _asked(line))


def _asked(line: bytes) -> Any:
    try:
        return json.loads(_pool.ask(line))
    except (OSError, ValueError) as error:
        raise GatewayGone(f"The way out of the sandbox is gone: {error}.") from error


def _value_of(tool: str, answer: Any) -> Any:
    error = (
        answer.get("error") if isinstance(answer, dict) else {"code": "garbled", "message": "The answer is garbled."}
    )
    if error:
        raise ToolError(tool, str(error.get("code")), str(error.get("message")))
    return answer.get("value")
