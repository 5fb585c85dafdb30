"""Who is measured: the product and its peers, each as lines to ask on and as processes that cost something."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from benchmarks.client import DirectLine, Line, RelayLine, SocketLine, http_session, open_socket
from benchmarks.environments import PEERS
from benchmarks.stand import Stand


class Contender(ABC):
    """`worker`: the part that asks the model; of one process."""

    name: str
    worker: str

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
    worker = "runner"

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


class Service(Contender):
    """A relay or a peer: one process that answers a POST with a stream, and Postgres where it keeps something.

    Postgres is the product's, too, which asks it for next to nothing while nobody asks the product.
    """

    def __init__(self, stand: Stand, name: str, *, keeps: bool = False) -> None:
        super().__init__(stand)
        self.name = self.worker = name
        self._keeps = keeps

    def parts(self) -> Mapping[str, int]:
        kept = {"postgres": self._stand.pid("postgres")} if self._keeps else {}
        return {self.name: self._stand.pid(self.name), **kept}

    @asynccontextmanager
    async def lines(self, count: int) -> AsyncIterator[list[Line]]:
        async with http_session() as session:
            yield [RelayLine(session, self._stand.services[self.name]) for _ in range(count)]


class Direct(Contender):
    """Nobody in between: what the model server and the client take by themselves."""

    name = "direct"
    worker = ""

    def parts(self) -> Mapping[str, int]:
        return {}

    @asynccontextmanager
    async def lines(self, count: int) -> AsyncIterator[list[Line]]:
        async with http_session() as session:
            yield [DirectLine(session, self._stand.model_url) for _ in range(count)]


def relays(stand: Stand) -> list[Contender]:
    return [Service(stand, "fastapi"), Service(stand, "aiohttp")]


def peers(stand: Stand) -> list[Contender]:
    """Those that could be started."""
    return [Service(stand, peer.name, keeps=peer.keeps) for peer in PEERS if peer.name in stand.services]
