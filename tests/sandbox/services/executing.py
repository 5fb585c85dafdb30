"""Computers for services that are stood in for: real boxes of this machine, with a program in each that runs others.

So what a provider does inside is done by real programs behind real walls; only the service's protocol is scripted.
"""

import asyncio
import json
import struct
from dataclasses import dataclass, field
from typing import Any

from agents.sandbox.base import Box, BoxSpec, Command, SandboxError, SandboxProvider
from tests.sandbox.conformance import LIMITS

PORT = 9999
HEAD = struct.Struct(">BxxxI")
ENDED = 3
"""The kind of the last frame: its content is the exit code."""

SERVER = """
import json, os, selectors, socket, struct, subprocess, threading
HEAD = struct.Struct(">BxxxI")
def serve(connection):
    line = b""
    while not line.endswith(b"\\n"):
        line += connection.recv(1)
    order = json.loads(line)
    process = subprocess.Popen(order["argv"], env={**os.environ, **order["env"]}, cwd="/home/user", bufsize=0,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    def feed():
        try:
            while piece := connection.recv(65536):
                process.stdin.write(piece)
        except OSError:
            pass
        try:
            process.stdin.close()
        except OSError:
            pass
    threading.Thread(target=feed, daemon=True).start()
    lock = threading.Lock()
    def tell(kind, piece):
        with lock:
            try:
                connection.sendall(HEAD.pack(kind, len(piece)) + piece)
            except OSError:
                pass
    def pump(kind, pipe):
        while piece := os.read(pipe.fileno(), 65536):
            tell(kind, piece)
    pumps = [threading.Thread(target=pump, args=one) for one in ((1, process.stdout), (2, process.stderr))]
    for one in pumps: one.start()
    for one in pumps: one.join()
    tell(3, str(process.wait()).encode())
    connection.close()
listener = socket.create_server(("127.0.0.1", PORT), backlog=64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
""".replace("PORT", str(PORT))


@dataclass
class Computer:
    """One that somebody asked the service for. `asked`: how."""

    id: str
    box: Box
    asked: Any
    codes: dict[str, int | None] = field(default_factory=dict)

    async def executing(
        self, argv: list[str], env: dict[str, str]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the program: frames of its output come, what is written is its input."""
        reader, writer = await self.box.connect(PORT)
        writer.write(json.dumps({"argv": argv, "env": env}).encode() + b"\n")
        return reader, writer


@dataclass
class Computers:
    provider: SandboxProvider
    alive: dict[str, Computer] = field(default_factory=dict)

    async def make(self, asked: Any) -> Computer:
        box = await self.provider.open(BoxSpec(key="computer", limits=LIMITS))
        await box.start(Command(["python3", "-c", SERVER], env={"HOME": "/home/user"}))
        async with asyncio.timeout(20):
            while True:
                try:
                    _, writer = await box.connect(PORT)
                except SandboxError:
                    await asyncio.sleep(0.02)
                    continue
                writer.close()
                break
        computer = Computer(f"computer{len(self.alive)}{id(box):x}", box, asked)
        self.alive[computer.id] = computer
        return computer

    async def end(self, id_: str) -> bool:
        computer = self.alive.pop(id_, None)
        if computer is not None:
            await computer.box.close()
        return computer is not None

    async def end_all(self) -> None:
        for id_ in list(self.alive):
            await self.end(id_)


async def frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Raises IncompleteReadError where the computer is gone."""
    kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
    return kind, await reader.readexactly(length)
