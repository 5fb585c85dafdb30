"""The peers: relays that pass a model's stream on and keep nothing. `python -m benchmarks.relays fastapi|aiohttp …`.

They read and write JSON for each chunk as an application would, and know nothing of runs, users or storage.
"""

import argparse
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import httpx
import uvicorn
from aiohttp import web
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

MODEL = "scripted-pro"
COMPLETE = 'data: {"type": "complete"}\n\n'


class Question(BaseModel):
    text: str


def fastapi_relay(upstream: str) -> FastAPI:
    """httpx below, FastAPI above: how most such services are written."""
    clients: dict[str, httpx.AsyncClient] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=upstream, timeout=None, limits=limits) as clients["model"]:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/ask")
    async def ask(question: Question) -> StreamingResponse:
        return StreamingResponse(frames(question.text), media_type="text/event-stream")

    async def frames(text: str) -> AsyncIterator[str]:
        async with clients["model"].stream("POST", "/v1/chat/completions", json=_asked(text)) as response:
            async for line in response.aiter_lines():
                content = _content_of(line)
                if content:
                    yield _frame(content)
        yield COMPLETE

    return app


def aiohttp_relay(upstream: str) -> web.Application:
    """aiohttp on both sides: the cheapest that is still ordinary Python."""
    session = web.AppKey("session", aiohttp.ClientSession)

    async def with_session(app: web.Application) -> AsyncIterator[None]:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as app[session]:
            yield

    async def ask(request: web.Request) -> web.StreamResponse:
        question = Question.model_validate_json(await request.read())
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        async with request.app[session].post(f"{upstream}/v1/chat/completions", json=_asked(question.text)) as model:
            async for line in model.content:
                content = _content_of(line.decode())
                if content:
                    await response.write(_frame(content).encode())
        await response.write(COMPLETE.encode())
        await response.write_eof()
        return response

    app = web.Application()
    app.cleanup_ctx.append(with_session)
    app.router.add_post("/ask", ask)
    return app


def _asked(text: str) -> dict[str, object]:
    return {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": text}]}


def _content_of(line: str) -> str | None:
    """The text of one line of the model's stream, if it carries any."""
    said = line.strip().removeprefix("data: ")
    if not said or said == "[DONE]":
        return None
    choices = json.loads(said)["choices"]
    return choices[0]["delta"].get("content") if choices else None


def _frame(content: str) -> str:
    return f"data: {json.dumps({'type': 'token', 'content': content})}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relays")
    parser.add_argument("kind", choices=("fastapi", "aiohttp"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True, help="the model server's address, without a path")
    options = parser.parse_args()
    if options.kind == "fastapi":
        uvicorn.run(fastapi_relay(options.upstream), port=options.port, log_level="warning", access_log=False)
    else:
        web.run_app(aiohttp_relay(options.upstream), host="127.0.0.1", port=options.port, print=None, access_log=None)


if __name__ == "__main__":
    main()
