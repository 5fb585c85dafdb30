"""A server that speaks OpenAI's protocol wrongly: which fault, the question says (`fault=read_stall`). Raw bytes on a
socket, for most of this no library would send.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

_NAMED = re.compile(rb"fault=(\w+)")
SSE = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
READ = '{"path": "notes.txt"}'
Json = dict[str, Any]


def data(value: Any) -> str:
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n"


def chunk(finish: str | None = None, **delta: Any) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "scripted-pro", "choices": [choice]}


def usage(prompt: int = 11, completion: int = 5) -> Json:
    told = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**chunk(), "choices": [], "usage": told}


def ended(finish: str = "stop") -> str:
    return data(chunk(finish)) + data(usage()) + data("[DONE]")


def said(text: str) -> str:
    return SSE + data(chunk(role="assistant", content=text)) + ended()


def call(name: str, arguments: str, index: int = 0, id_: str | None = "call-1") -> Json:
    made: Json = {"index": index, "type": "function", "function": {"name": name, "arguments": arguments}}
    return made if id_ is None else {**made, "id": id_}


def called(*calls: Json, finish: str = "tool_calls", **more: Any) -> str:
    return SSE + data(chunk(role="assistant", tool_calls=list(calls), **more)) + ended(finish)


def http(status: str, body: str, *headers: str, kind: str = "application/json") -> str:
    told = "".join(f"{header}\r\n" for header in headers)
    head = f"Content-Type: {kind}\r\nContent-Length: {len(body.encode())}\r\n{told}Connection: close\r\n"
    return f"HTTP/1.1 {status}\r\n{head}\r\n{body}"


def refused(status: str, code: str, *headers: str) -> str:
    return http(status, json.dumps({"error": {"message": f"no: {code}", "type": code, "code": code}}), *headers)


def in_pieces() -> str:
    pieces = [data(chunk(tool_calls=[{"index": 0, "function": {"arguments": sign}}])) for sign in READ]
    return SSE + data(chunk(role="assistant", tool_calls=[call("read_file", "")])) + "".join(pieces) + ended()


def tool_of(payload: str) -> str:
    wanted = json.loads(payload)
    return called(call(wanted["tool"], json.dumps(wanted["args"])))


def twenty_words() -> str:
    return SSE + "".join(data(chunk(content=f"w{number} ")) for number in range(20))


def its_text(payload: str, count: int) -> str:
    return said(payload)


# Given the payload and which of this fault's calls it is (from 1).
Answer = Callable[[str, int], str | bytes]
# By the fault's name.
ANSWERS: dict[str, Answer] = {
    "unknown_tool": lambda payload, _: tool_of(payload),
    "args_not_object": lambda payload, _: tool_of(payload),
    "args_string_json": lambda payload, _: called(call("read_file", json.dumps(READ))),
    "extra_keys": lambda payload, _: tool_of(payload),
    "1000_steps": lambda payload, _: said(
        json.dumps({"tasks": [{"id": str(n), "agent": "chat", "task": "x", "depends_on": []} for n in range(1000)]})
    ),
    "10mb_string": lambda payload, _: SSE + data(chunk(content="a" * 65_536)) * 160 + ended(),
    "lone_surrogate": lambda payload, _: said("x@@y").replace("@@", "\\ud800"),
    "tool_call_no_id": lambda payload, _: called(call("read_file", READ, id_=None)),
    "duplicate_tool_call_ids": lambda payload, _: called(
        call("read_file", READ), call("list_files", "{}", index=1, id_="call-1")
    ),
    "tool_call_split_across_chunks": lambda payload, _: in_pieces(),
    "finish_reason_length": lambda payload, _: called(call("write_file", '{"path": "a.txt", "con'), finish="length"),
    "finish_reason_content_filter": lambda payload, _: SSE + data(chunk("content_filter")) + data("[DONE]"),
    "empty_choices": lambda payload, _: SSE + data({**chunk(), "choices": []}) + data("[DONE]"),
    "stream_no_done": lambda payload, _: twenty_words(),
    "stream_error_midway": lambda payload, _: twenty_words() + data({"error": {"message": "boom", "code": 500}}),
    "usage_missing": lambda payload, _: SSE + data(chunk(content="Hello.")) + data(chunk("stop")) + data("[DONE]"),
    "usage_negative": lambda payload, _: (
        SSE + data(chunk("stop", content="Hi.")) + data(usage(-1, -1)) + data("[DONE]")
    ),
    "endless_same_tool": lambda payload, count: called(call("read_file", READ, id_=f"call-{count}")),
    "alternating_tools": lambda payload, count: called(
        call("read_file" if count % 2 else "list_files", READ if count % 2 else "{}", id_=f"call-{count}")
    ),
    "tool_call_plus_text": lambda payload, _: called(call("read_file", READ), content="I will look."),
    "parallel_50": lambda payload, _: called(
        *[call("read_file", json.dumps({"path": f"{n}.txt"}), index=n, id_=f"call-{n}") for n in range(50)]
    ),
    "wrong_role": lambda payload, _: SSE + data(chunk(role="user", content="I am the person.")) + ended(),
    "http_429_retry_after": lambda payload, count: (
        refused("429 Too Many Requests", "rate_limit_exceeded", "Retry-After: 7") if count == 1 else said("Better.")
    ),
    "http_429_forever": lambda payload, _: refused("429 Too Many Requests", "rate_limit_exceeded"),
    "http_500_then_ok": lambda payload, count: (
        refused("500 Internal Server Error", "server_error") if count < 3 else said("Better now.")
    ),
    "http_400_context_length": lambda payload, _: refused("400 Bad Request", "context_length_exceeded"),
    "http_401": lambda payload, _: refused("401 Unauthorized", "invalid_api_key"),
    "read_stall": lambda payload, _: SSE,
    "slow_drip": lambda payload, _: SSE + data(chunk(content="one ")),
    "reset_midstream": lambda payload, _: twenty_words(),
    "html_error_page": lambda payload, _: http("200 OK", "<h1>Bad gateway</h1>", kind="text/html"),
    "redirect": lambda payload, _: http("302 Found", "", "Location: https://elsewhere.example/v1/chat/completions"),
    "gzip_garbage": lambda payload, _: (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
        + b"\x1f\x8b\x08garbage" * 20
    ),
    "unicode_split_across_chunks": lambda payload, _: said("\u00e9\U0001f600 ok").encode(),
}
# These never end by themselves.
STALLED = {"read_stall", "slow_drip"}


class FaultyModel:
    """Use as `async with FaultyModel(payloads)`. `asked`: how often each fault was called for."""

    def __init__(self, payloads: dict[str, str]) -> None:
        self.payloads = payloads
        self.asked: Counter[str] = Counter()
        self.url = ""

    async def __aenter__(self) -> "FaultyModel":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=50_000_000)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            body = await self._request(reader)
            named = _NAMED.search(body)
            name = named[1].decode() if named else ""
            self.asked[name] += 1
            async for piece in self._answer(name):
                writer.write(piece)
                await writer.drain()
            if name == "reset_midstream":
                writer.transport.abort()
            if name in STALLED:
                await reader.read()  # until the client has enough of it
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        return await reader.readexactly(int(length[1])) if length else b""

    async def _answer(self, name: str) -> AsyncIterator[bytes]:
        made = ANSWERS.get(name, its_text)(self.payloads.get(name, "Hello."), self.asked[name])
        raw = made if isinstance(made, bytes) else made.encode()
        step = 7 if name == "unicode_split_across_chunks" else 1 << 20
        for first in range(0, len(raw), step):
            yield raw[first : first + step]
