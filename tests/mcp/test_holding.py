"""While a program owes an answer, its box is held: neither room for another box nor idleness ends the call."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

from agents.mcp.connecting import called
from agents.mcp.programs import program
from agents.mcp.sessions import Session
from agents.mcp.values import ServerConfig
from tests.mcp.servers import ChangingTools


class HeldBox:
    """A box whose program is a server of this test's own. `held`: by how many it is held now. `asked`: told when the
    program was called, and how often it was held then."""

    alive = True

    def __init__(self) -> None:
        self.held = 0
        self.asked: asyncio.Queue[int] = asyncio.Queue()
        self.may_answer = asyncio.Event()
        self._tools = ChangingTools()
        self._server: asyncio.Server | None = None
        self._ended = asyncio.Event()

    async def end(self) -> None:
        self.may_answer.set()
        await self._ended.wait()

    async def start(self, _: Any, *, heard: Any) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        heard("stdout", f"{self._server.sockets[0].getsockname()[1]}\n")
        return "started"

    async def running(self, _: str) -> bool:
        return True

    async def stop(self, _: str) -> None:
        assert self._server is not None
        self._server.close()

    async def connect(self, port: int) -> Any:
        return await asyncio.open_connection("127.0.0.1", port)

    async def hold(self, _: str) -> "HeldBox":
        self.held += 1
        return self

    async def let_go(self) -> None:
        self.held -= 1

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError, OSError):
            await self._answer(reader, writer)
        writer.close()
        self._ended.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            asked = json.loads(line)
            if "id" not in asked:
                continue
            if asked["method"] == "tools/call":
                self.asked.put_nowait(self.held)
                await self.may_answer.wait()
                answer: Any = {"result": {"content": []}}
            else:
                answer = self._tools.answer(asked["method"], asked.get("params"))
            writer.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode() + b"\n")


class InBox:
    """The `Transports`."""

    def __init__(self, box: Any) -> None:
        self._box = box

    def program(self, config: ServerConfig) -> Any:
        async def open_box(config: ServerConfig) -> Any:
            return self._box

        return program(config, open_box)

    def auth(self, _: Any) -> None:
        return None


@asynccontextmanager
async def connected(box: HeldBox) -> AsyncIterator[Session]:
    session = Session(ServerConfig(uuid4(), "clock", "stdio"), InBox(box))
    session.start()
    yield session
    session.close()
    assert session.task is not None
    await session.task
    await box.end()


async def _calls(session: Session) -> Any:
    return await session.use(lambda client: called(client, "tool0", {}, key=""))


async def test_the_box_of_a_program_is_held_as_long_as_an_answer_is_owed() -> None:
    box = HeldBox()
    async with connected(box) as session:
        await session.listing()
        between = box.held

        calls = [asyncio.create_task(_calls(session)) for _ in range(2)]
        during = await box.asked.get()
        box.may_answer.set()
        await asyncio.gather(*calls)
        async with asyncio.timeout(5):
            while box.held:
                await asyncio.sleep(0.01)

    assert (between, during) == (0, 1)


async def test_a_call_that_nobody_waits_for_any_more_lets_the_box_go() -> None:
    box = HeldBox()
    async with connected(box) as session:
        calling = asyncio.create_task(_calls(session))
        during = await box.asked.get()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        async with asyncio.timeout(5):
            while box.held:
                await asyncio.sleep(0.01)

    assert during == 1


async def test_a_session_that_ends_while_an_answer_is_owed_lets_the_box_go() -> None:
    box = HeldBox()
    async with connected(box) as session:
        calling = asyncio.create_task(_calls(session))
        during = await box.asked.get()
        session.close()
        await asyncio.gather(calling, return_exceptions=True)

    assert (during, box.held) == (1, 0)
