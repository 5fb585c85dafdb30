"""A server in a box: started, waited for until it answers, ended. Knows no table and no tool."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from agents.apps.exchange import BadAnswer, Exchange
from agents.sandbox.base import APP, Box, Command, SandboxError

ANSWERS_WITHIN_S: Final = 90.0
"""Some compile their first page when it is asked for."""
_ONE_ANSWER_S: Final = 5.0
LIVES_S: Final = 24 * 3600.0
"""Of the server; its box ends it earlier, when nobody uses it."""
_LOOK_EVERY_S: Final = 0.2
_KEPT_PIECES: Final = 60


class NotStarted(Exception):
    """`said`: what the server wrote; from a program of a model."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.said = said


class PortTaken(NotStarted):
    """Something listens there already."""


@dataclass(frozen=True, slots=True)
class Server:
    """One that was started, and what it wrote last. `id`: the box's name for it."""

    id: str
    pieces: deque[str] = field(default_factory=deque)

    @property
    def said(self) -> str:
        return "".join(self.pieces)


async def launch(box: Box, command: str, *, port: int) -> Server:
    """Starts a line of a shell in the app's folder. Its id is to be kept before it is waited for: whoever waits may be
    gone before it answers, and a server that nobody knows holds the port for as long as the box lives.

    Raises PortTaken, and what a Box raises.
    """
    if await listens(box, port):
        raise PortTaken(f"Another program in the box listens at port {port}. Stop it, or take another port.")
    pieces: deque[str] = deque(maxlen=_KEPT_PIECES)
    env = {"PORT": str(port), "HOST": "127.0.0.1", "NEXT_TELEMETRY_DISABLED": "1"}
    if suffix := settings.CONFIG.preview_name:
        # Vite answers to names that it knows, and only to those.
        env["__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS"] = f".{suffix}"
    shell = Command(("/bin/sh", "-c", command), env=env, cwd=APP, wall_s=LIVES_S)
    return Server(await box.start(shell, heard=lambda _, text: pieces.append(text)), pieces)


async def answering(box: Box, server: Server, *, port: int, within_s: float = ANSWERS_WITHIN_S) -> None:
    """Waits until it answers at the port; ends it where it does not in time.

    Raises NotStarted where it has ended or does not answer in time, and what a Box raises.
    """
    until = asyncio.get_running_loop().time() + within_s
    while True:
        is_answered = await _answers(box, port)
        if not await box.running(server.id):
            raise NotStarted("The server ended before it answered.", server.said)
        if is_answered:
            return
        if asyncio.get_running_loop().time() > until:
            await box.stop(server.id)
            raise NotStarted(f"The server did not answer at port {port} within {within_s:g} s.", server.said)
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
