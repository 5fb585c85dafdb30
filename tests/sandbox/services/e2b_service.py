"""E2B as its SDK sees it, over HTTP on this machine: the API of sandboxes, and in each its processes and files.

The messages of processes are the SDK's own: it has the service's side of its protocol with it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from e2b.envd.process import process_pb
from e2b.envd.process.process_connect import Process, ProcessASGIApplication
from protobuf import Oneof

from tests.sandbox.services.executing import ENDED, Computer, Computers, frame

ID_HEADER = "e2b-sandbox-id"


class Processes(Process):
    """`process.Process` of whichever sandbox the request names."""

    def __init__(self, service: "E2BService") -> None:
        self.service = service

    async def start(self, request: Any, ctx: Any) -> AsyncIterator[Any]:
        computer = self.service.computers.alive[ctx.request_headers[ID_HEADER]]
        argv = [request.process.cmd, *request.process.args]
        output, entry = await computer.executing(argv, dict(request.process.envs))
        yield _said(Oneof("start", process_pb.ProcessEvent.StartEvent(pid=7)))
        entry.write_eof()
        try:
            while True:
                kind, piece = await frame(output)
                if kind == ENDED:
                    end = process_pb.ProcessEvent.EndEvent(exit_code=int(piece), exited=True, status="exited")
                    yield _said(Oneof("end", end))
                    return
                yield _said(Oneof("data", _data(kind, piece)))
        except asyncio.IncompleteReadError:
            return
        finally:
            entry.close()


def _data(kind: int, piece: bytes) -> Any:
    output: Any = Oneof("stdout" if kind == 1 else "stderr", piece)
    return process_pb.ProcessEvent.DataEvent(output=output)


def _said(event: Any) -> Any:
    return process_pb.StartResponse(event=process_pb.ProcessEvent(event=event))


class E2BService:
    def __init__(self, computers: Computers, *, key: str) -> None:
        self.computers = computers
        self.key = key
        self.unexpected: list[str] = []
        self._processes = ProcessASGIApplication(Processes(self))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        config = uvicorn.Config(self, host="127.0.0.1", port=0, log_level="warning", lifespan="off", http="h11")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await self.computers.end_all()
            server.should_exit = server.force_exit = True
            with suppress(asyncio.CancelledError):
                await serving

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope["path"]
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        if path.startswith("/process.Process/") and headers.get(ID_HEADER) in self.computers.alive:
            await self._processes(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status, answer = await self._answer(
            scope["method"], path, headers, parse_qs(scope["query_string"].decode()), body
        )
        said = answer if isinstance(answer, bytes) else json.dumps(answer).encode() if answer is not None else b""
        kind = b"application/octet-stream" if isinstance(answer, bytes) else b"application/json"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": said})

    async def _answer(
        self, method: str, path: str, headers: dict[str, str], query: dict[str, list[str]], body: bytes
    ) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        if "sandboxes" in parts and headers.get("x-api-key") != self.key:
            return 401, {"code": 401, "message": "no such key"}
        computer = self.computers.alive.get(headers.get(ID_HEADER, ""))
        match method, parts:
            case "POST", ["sandboxes" | "v2", *rest] if not rest or rest == ["sandboxes"]:
                return 201, _facts(await self.computers.make(json.loads(body)))
            case "GET", [*_, "sandboxes"]:
                return 200, []
            case "DELETE", ["sandboxes", id_]:
                return (204, None) if await self.computers.end(id_) else (404, {"code": 404, "message": "gone"})
            case "POST", ["sandboxes", _, "timeout"]:
                return 204, None
            case "GET", ["health"]:
                return (204, None) if computer else (502, {"code": 502, "message": "no such sandbox"})
            case _, ["files" | "process.Process", *_] if computer is None:
                return 502, {"code": 502, "message": "no such sandbox"}
            case "POST", ["files"] if computer is not None:
                put = query["path"][0]
                await computer.box.write(put, _uploaded(headers, body))
                return 200, [{"name": put.rpartition("/")[2], "path": put, "type": "file"}]
            case "GET", ["files"] if computer is not None:
                return 200, await computer.box.read(query["path"][0], max_bytes=1 << 30)
        self.unexpected.append(f"{method} {path}")
        return 500, {"code": 500, "message": "not scripted"}


def _facts(computer: Computer) -> dict[str, Any]:
    return {
        "sandboxID": computer.id,
        "templateID": "base",
        "clientID": "client",
        "envdVersion": "0.2.4",
        "envdAccessToken": "token",
    }


def _uploaded(headers: dict[str, str], body: bytes) -> bytes:
    """The one file of a form, or the body itself."""
    found = re.search(r'boundary="?([^";]+)', headers.get("content-type", ""))
    if found is None:
        return body
    part = body.split(b"--" + found[1].encode())[1]
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
