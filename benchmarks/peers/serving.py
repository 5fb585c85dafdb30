"""How each peer is served: FastAPI and uvicorn over the frames that the relays send. Knows no agent framework."""

import argparse
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import orjson
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

Answer = Callable[[str], AsyncIterator[str]]
"""From a question's text to the pieces of its answer, as they come."""
COMPLETE = b'data: {"type":"complete"}\n\n'


class Question(BaseModel):
    text: str


def options(*more: str) -> argparse.Namespace:
    """What the stand says to each peer, and whatever else this one is told."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream", required=True, help="the model server's address, without a path")
    parser.add_argument("--model", required=True)
    for name in more:
        parser.add_argument(name, required=True)
    return parser.parse_args()


def serve(opened: Callable[[], AbstractAsyncContextManager[Answer]], *, port: int) -> None:
    """Answers at `/ask` until SIGTERM; `opened` holds what lives as long as the process."""
    answers: list[Answer] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with opened() as answer:
            answers.append(answer)
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/ask")
    async def ask(question: Question) -> StreamingResponse:
        return StreamingResponse(frames(question.text), media_type="text/event-stream")

    async def frames(text: str) -> AsyncIterator[bytes]:
        async for piece in answers[0](text):
            yield b"data: " + orjson.dumps({"type": "token", "content": piece}) + b"\n\n"
        yield COMPLETE

    # With uvloop and httptools, which its "standard" extra brings.
    uvicorn.run(app, port=port, log_level="warning", access_log=False)
