"""A Docker engine as its SDK sees it, over a Unix socket: the HTTP calls that the provider makes, and no others."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.sandbox.services.executing import ENDED, HEAD, Computers, frame

VERSION = {"ApiVersion": "1.50", "MinAPIVersion": "1.24", "Version": "28.2.2"}


class DockerEngine:
    def __init__(self, computers: Computers, *, images: tuple[str, ...]) -> None:
        self.computers = computers
        self.images = images
        self.executions: dict[str, tuple[str, list[str], dict[str, str]]] = {}
        self.unexpected: list[str] = []
        self.following: set[asyncio.StreamWriter] = set()
        """The lines to those who follow a program."""
        self.is_ill = False
        """It answers, and does nothing that is asked."""

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator["DockerEngine"]:
        server = await asyncio.start_unix_server(self._serve, str(path))
        try:
            yield self
        finally:
            server.close()
            await self.computers.end_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readline():
                method, target, _ = head.decode().split()
                length = 0
                while line := (await reader.readline()).strip():
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                body = json.loads(await reader.readexactly(length) or b"{}") if length else {}
                path = re.sub(r"^/v1\.\d+", "", unquote(urlsplit(target).path))
                if method == "POST" and path.startswith("/exec/") and path.endswith("/start"):
                    await self._execute(path.split("/")[2], reader, writer)
                    return
                status, answer = await self._answer(method, path, body)
                said = json.dumps(answer).encode() if answer is not None else b""
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n".encode())
                writer.write(f"Content-Length: {len(said)}\r\n\r\n".encode() + said)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # Cancelled when the test is over; nobody waits for this task.
            return
        finally:
            writer.close()

    async def _answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.is_ill:
            return 500, {"message": "out of memory"}
        match method, path.strip("/").split("/"):
            case "GET", ["version"]:
                return 200, VERSION
            case "GET", ["_ping"]:
                return 200, "OK"
            case "GET", ["images", *name, "json"]:
                known = "/".join(name) in self.images
                return (200, {"Id": "sha256:1"}) if known else (404, {"message": "No such image"})
            case "GET", ["containers", "json"]:
                return 200, [{"Id": id_} for id_ in self.computers.alive]
            case "POST", ["containers", "create"]:
                return 201, {"Id": (await self.computers.make(body)).id, "Warnings": []}
            case "POST", ["containers", id_, "start"] if id_ in self.computers.alive:
                return 204, None
            case "GET", ["containers", id_, "json"] if id_ in self.computers.alive:
                return 200, {"Id": id_, "State": {"Status": "running"}, "Config": {"Labels": {}}}
            case "DELETE", ["containers", id_] if await self.computers.end(id_):
                return 204, None
            case "POST", ["containers", id_, "exec"] if id_ in self.computers.alive:
                number = f"exec{len(self.executions)}"
                env = dict(one.split("=", 1) for one in body.get("Env") or [])
                self.executions[number] = (id_, body["Cmd"], env)
                return 201, {"Id": number}
            case "GET", ["exec", number, "json"]:
                computer = self.computers.alive.get(self.executions[number][0])
                return 200, {"ExitCode": computer.codes.get(number) if computer else 137}
            case _, ["containers", *_]:
                return 404, {"message": "No such container"}
        self.unexpected.append(f"{method} {path}")
        return 500, {"message": "not scripted"}

    async def _execute(self, number: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The connection is the program's from here on."""
        id_, argv, env = self.executions[number]
        computer = self.computers.alive[id_]
        writer.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        output, entry = await computer.executing(argv, env)

        async def feed() -> None:
            while piece := await reader.read(65_536):
                entry.write(piece)
                await entry.drain()

        feeding = asyncio.create_task(feed())
        self.following.add(writer)
        try:
            while True:
                kind, piece = await frame(output)
                if kind == ENDED:
                    computer.codes[number] = int(piece)
                    return
                writer.write(HEAD.pack(kind, len(piece)) + piece)
                await writer.drain()
        except asyncio.IncompleteReadError:
            return
        finally:
            self.following.discard(writer)
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            entry.close()
