"""A server in a box: started, waited for until it answers, ended. Knows no table and no tool."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from agents.apps.exchange import BadAnswer, Exchange
from agents.sandbox.base import APP, Box, Command, SandboxError, Stream

ANSWERS_WITHIN_S: Final = 90.0
"""Some compile their first page when it is asked for."""
_ONE_ANSWER_S: Final = 5.0
LIVES_S: Final = 24 * 3600.0
"""Of the server; its box ends it earlier, when nobody uses it."""
_LOOK_EVERY_S: Final = 0.2
_KEPT_PIECES: Final = 60


class NotStarted(Exception):
    """`said`: what the server wrote; from a program of a model."""

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.message = message
        self.said = said


@dataclass
class _Said:
    pieces: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_PIECES))

    def __call__(self, stream: Stream, text: str) -> None:
        self.pieces.append(text)


async def start(box: Box, command: str, *, port: int, within_s: float = ANSWERS_WITHIN_S) -> str:
    """Starts a line of a shell in the app's folder and waits until it answers at the port; gives its id.

    Raises NotStarted where it ends or does not answer in time, and what a Box raises.
    """
    said = _Said()
    env = {"PORT": str(port), "HOST": "127.0.0.1", "NEXT_TELEMETRY_DISABLED": "1"}
    if suffix := settings.CONFIG.preview_name:
        # Vite answers to names that it knows, and only to those.
        env["__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS"] = f".{suffix}"
    server = await box.start(Command(("/bin/sh", "-c", command), env=env, cwd=APP, wall_s=LIVES_S), heard=said)
    until = asyncio.get_running_loop().time() + within_s
    while True:
        if await _answers(box, port):
            return server
        if not await box.running(server):
            raise NotStarted("The server ended before it answered.", "".join(said.pieces))
        if asyncio.get_running_loop().time() > until:
            await box.stop(server)
            raise NotStarted(f"The server did not answer at port {port} within {within_s:g} s.", "".join(said.pieces))
        await asyncio.sleep(_LOOK_EVERY_S)


async def listens(box: Box, port: int) -> bool:
    try:
        _, writer = await box.connect(port)
    except SandboxError:
        return False
    writer.close()
    return True


async def _answers(box: Box, port: int) -> bool:
    """Whether it speaks HTTP, whatever it says: one may listen long before it can answer."""
    try:
        exchange = Exchange(*await box.connect(port))
    except SandboxError:
        return False
    try:
        async with asyncio.timeout(_ONE_ANSWER_S):
            await exchange.ask("GET", b"/", [(b"host", f"localhost:{port}".encode()), (b"connection", b"close")])
            await exchange.head()
    except (BadAnswer, OSError, TimeoutError):
        return False
    finally:
        exchange.close()
    return True
