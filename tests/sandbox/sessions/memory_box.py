"""Boxes in memory, for tests of what is around a box: files are a dict, programs are a few words.

`echo WORDS`, `fail`, `sleep` (until it is stopped), `make PATH SIZE`, `flood BYTES`, `ask JSON` (a line through the
door "gateway").
"""

import asyncio
import io
import json
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.sandbox.base import (
    HOME,
    Box,
    BoxFile,
    BoxGone,
    BoxSpec,
    Command,
    Ending,
    Heard,
    Outcome,
    SandboxError,
)


class MemoryBox(Box):
    def __init__(self, spec: BoxSpec) -> None:
        self.spec = spec
        self.key = spec.key
        self.box_type = spec.box_type
        self.contents: dict[str, tuple[bytes, int]] = {}
        self.stopped = 0
        self.sleeping = asyncio.Event()
        self._alive = True
        self._died = asyncio.Event()
        self._clock = 0

    @property
    def alive(self) -> bool:
        return self._alive

    def die(self) -> None:
        self._alive = False
        self._died.set()

    def put(self, path: str, content: bytes) -> None:
        self._clock += 1
        self.contents[path] = (content, self._clock)

    async def run(self, command: Command, *, heard: Heard | None = None) -> Outcome:
        self._check()
        began = time.monotonic()
        word, *more = command.argv
        out = ""
        if word == "echo":
            out = " ".join(more)
        elif word == "make":
            self.put(more[0], b"x" * int(more[1]))
        elif word == "flood":
            out = "x" * int(more[0])
        elif word == "ask":
            out = await self._asked(command, more[0])
        elif word == "sleep":
            self.sleeping.set()
            try:
                await self._died.wait()
            except asyncio.CancelledError:
                self.stopped += 1
                raise
            return Outcome(Ending.LOST, None, note="The box went away.")
        if heard is not None and out:
            heard("stdout", out)
        return Outcome(Ending.EXITED, int(word == "fail"), stdout=out, seconds=time.monotonic() - began)

    async def _asked(self, command: Command, text: str) -> str:
        reader, writer = await asyncio.open_unix_connection(str(self.spec.doors["gateway"]))
        said = {**json.loads(text), "token": command.env.get("HYPERAGENT_TOKEN", "")}
        writer.write(json.dumps(said).encode() + b"\n")
        line = await reader.readline()
        writer.close()
        return line.decode().strip()

    async def start(self, command: Command, *, heard: Heard | None = None) -> str:
        self._check()
        return "started"

    async def stop(self, started: str) -> None:
        self._check()

    async def running(self, started: str) -> bool:
        return self._alive

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            raise SandboxError(f"Nothing listens at port {port}.") from error

    async def write(self, path: str, content: bytes) -> BoxFile:
        self._check()
        if not path.startswith((f"{HOME}/", "/tmp/")):
            raise SandboxError(f"{path} cannot be written.")
        self.put(path, content)
        return self._file(path)

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        self._check()
        if path not in self.contents:
            raise SandboxError(f"There is no file {path}.")
        content = self.contents[path][0]
        if len(content) > max_bytes:
            raise SandboxError(f"{path} has {len(content):,} bytes, more than {max_bytes:,}.")
        return content

    async def files(self, folder: str = HOME) -> tuple[BoxFile, ...]:
        self._check()
        return tuple(self._file(path) for path in sorted(self.contents) if path.startswith(f"{folder}/"))

    async def pack(self, folders: Sequence[str], *, max_bytes: int) -> bytes:
        self._check()
        found = io.BytesIO()
        with tarfile.open(fileobj=found, mode="w") as archive:
            for path in sorted(self.contents):
                if path.startswith(tuple(f"{folder}/" for folder in folders)):
                    member = tarfile.TarInfo(path.lstrip("/"))
                    member.size = len(self.contents[path][0])
                    archive.addfile(member, io.BytesIO(self.contents[path][0]))
        if found.tell() > max_bytes:
            raise SandboxError(f"These folders have more than {max_bytes:,} bytes.")
        return found.getvalue()

    async def unpack(self, archive: bytes) -> None:
        self._check()
        with tarfile.open(fileobj=io.BytesIO(archive)) as members:
            for member in members:
                content = members.extractfile(member)
                assert content is not None
                self.put(f"/{member.name}", content.read())

    async def close(self) -> None:
        self.die()

    def _file(self, path: str) -> BoxFile:
        content, changed = self.contents[path]
        return BoxFile(path, len(content), changed)

    def _check(self) -> None:
        if not self._alive:
            raise BoxGone("The box is gone.")


@dataclass
class MemoryProvider:
    name: str = "memory"
    why: str = ""
    opened: list[MemoryBox] = field(default_factory=list)

    async def why_not(self) -> str:
        return self.why

    async def open(self, spec: BoxSpec) -> Box:
        if self.why:
            raise SandboxError(self.why)
        self.opened.append(MemoryBox(spec))
        return self.opened[-1]
