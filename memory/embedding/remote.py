"""An embedding model of a provider, by its name in LiteLLM, through the model gateway. It reads a chunk whole."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from uuid import UUID

from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.errors import ContextTooLong, ModelError, Reason
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.prices import Price
from hyperagent.lib.llm.types import Embedded
from memory.embedding.model import Pulse, TextRefused, Unusable, Vector, of_unit_length
from memory.embedding.paying import NobodyPays, Till

T = TypeVar("T")
PULSE_EVERY_S: Final = 1.0
PRICE_WITHIN_S: Final = 30.0
# A text that is too long is halved; one that is refused when it is this short is refused for another reason.
SHORTEST_CHARS: Final = 200


class RemoteModel:
    """`dimensions`: of the vectors that are stored already, 0 if there are none. Asked from two threads, it talks to
    the provider on a third, which has the event loop."""

    chunks_at_once = 32

    def __init__(self, name: str, *, dimensions: Callable[[], int], till: Till | None = None) -> None:
        self.name = name
        self._till: Till = till or NobodyPays()
        self._dimensions = dimensions
        self._gateway = ModelGateway(LLMSettings.from_env(os.environ))
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name=f"loop of {name}", daemon=True).start()

    def windows(self, texts: Sequence[str], pulse: Pulse, *, payer: UUID | None = None) -> list[list[Vector]]:
        with self._paid(texts, payer) as took:
            asking = self._begin(self._embed(list(texts), took))
            try:
                return [[self._vector(values)] for values in _awaited(asking, pulse)]
            except ModelError as error:
                kind = TextRefused if _may_be_too_long(error) else Unusable
                raise kind(error.user_message) from error
            finally:
                asking.cancel()

    def whole(self, texts: Sequence[str], *, timeout_s: float, payer: UUID | None = None) -> list[Vector]:
        with self._paid(texts, payer) as took:
            asking = self._begin(self._embed(list(texts), took))
            try:
                return [self._vector(values) for values in asking.result(timeout_s)]
            except NotYet as error:
                raise Unusable(f"the model {self.name} did not answer within {timeout_s:g} s") from error
            except ModelError as error:
                raise Unusable(error.user_message) from error
            finally:
                asking.cancel()

    @contextmanager
    def _paid(self, texts: Sequence[str], payer: UUID | None) -> Iterator[list[Embedded]]:
        """Reserved before, settled after it by what stands in the list, whatever became of it."""
        self._gateway.prices = self._till.prices()
        held = self._till.reserve(payer, texts, self._price)
        took: list[Embedded] = []
        try:
            yield took
        finally:
            self._till.settle(held, payer, took)

    def _price(self) -> Price | None:
        try:
            return self._begin(self._gateway.embedding_price(model=self.name)).result(PRICE_WITHIN_S)
        except (ModelError, NotYet):
            return None

    def _begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _embed(self, texts: list[str], took: list[Embedded]) -> list[list[float]]:
        """A text that the model refuses as too long counts by its beginning: as much as the model takes."""
        try:
            # Providers refuse an empty text.
            found = await self._gateway.embedded([text or " " for text in texts], model=self.name)
            took.append(found)
            return found.vectors
        except ModelError as error:
            if not _may_be_too_long(error):
                raise
            if len(texts) > 1:
                half = len(texts) // 2
                return [*await self._embed(texts[:half], took), *await self._embed(texts[half:], took)]
            if len(texts[0]) <= SHORTEST_CHARS:
                raise
            return await self._embed([texts[0][: len(texts[0]) // 2]], took)

    def _vector(self, values: object) -> Vector:
        try:
            return of_unit_length(values, dimensions=self._dimensions())
        except Unusable as error:
            raise Unusable(f"The embedding model {self.name} cannot be used: {error}.") from error


def _awaited(asking: "Future[T]", pulse: Pulse) -> T:
    while True:
        pulse()
        try:
            return asking.result(PULSE_EVERY_S)
        except NotYet:
            if asking.done():
                raise


def _may_be_too_long(error: ModelError) -> bool:
    """Many servers say only that the request is bad."""
    return isinstance(error, ContextTooLong) or error.reason is Reason.BAD_REQUEST
