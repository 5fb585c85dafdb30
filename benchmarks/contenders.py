"""Who is measured: the product and its peers, each as lines to ask on and as processes that cost something."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from benchmarks.client import DirectLine, Line, RelayLine, SocketLine, http_session, open_socket
from benchmarks.stand import Stand


class Contender(ABC):
    name: str

    def __init__(self, stand: Stand) -> None:
        self._stand = stand

    @abstractmethod
    def parts(self) -> Mapping[str, int]:
        """The processes whose cost counts, by name."""

    @abstractmethod
    def lines(self, count: int) -> AbstractAsyncContextManager[list[Line]]:
        """So many lines, open before anything is asked."""


class Product(Contender):
    """Daphne, runner, Postgres and Valkey, by one websocket for each conversation."""

    name = "hyperagent"

    def parts(self) -> Mapping[str, int]:
        return self._stand.product

    @asynccontextmanager
    async def lines(self, count: int) -> AsyncIterator[list[Line]]:
        async with http_session() as session, AsyncExitStack() as stack:
            opened: list[Line] = []
            for _ in range(count):
                socket = open_socket(
                    session,
                    self._stand.web_url,
                    conversation_id=self._stand.new_conversation(),
                    token=self._stand.token,
                )
                opened.append(SocketLine(await stack.enter_async_context(socket)))
            yield opened


class FastAPIRelay(Contender):
    name = "fastapi"

    def parts(self) -> Mapping[str, int]:
        return {"fastapi": self._stand.pid("fastapi")}

    @asynccontextmanager
    async def lines(self, count: int) -> AsyncIterator[list[Line]]:
        async with http_session() as session:
            yield [RelayLine(session, self._stand.fastapi_url) for _ in range(count)]


class AiohttpRelay(Contender):
    name = "aiohttp"

    def parts(self) -> Mapping[str, int]:
        return {"aiohttp": self._stand.pid("aiohttp")}

    @asynccontextmanager
    async def lines(self, count: int) -> AsyncIterator[list[Line]]:
        async with http_session() as session:
            yield [RelayLine(session, self._stand.aiohttp_url) for _ in range(count)]


class Direct(Contender):
    """Nobody in between: what the model server and the client take by themselves."""

    name = "direct"

    def parts(self) -> Mapping[str, int]:
        return {}

    @asynccontextmanager
    async def lines(self, count: int) -> AsyncIterator[list[Line]]:
        async with http_session() as session:
            yield [DirectLine(session, self._stand.model_url) for _ in range(count)]
