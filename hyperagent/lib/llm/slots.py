"""How many calls a provider serves at once: the port, and the limit within one process. See slots_postgres.py."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol


class SlotsTaken(Exception):
    """No slot came free within the time that the caller gave."""


class Slots(Protocol):
    def hold(self, provider: str, *, limit: int, timeout_s: float) -> AbstractAsyncContextManager[None]:
        """Holds one of the provider's `limit` slots. Raises SlotsTaken; may be cancelled while it waits."""
        ...


class ProcessSlots:
    """The limit for one event loop alone, first come first served."""

    def __init__(self) -> None:
        self._free: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def hold(self, provider: str, *, limit: int, timeout_s: float) -> AsyncIterator[None]:
        free = self._free.setdefault(provider, asyncio.Semaphore(limit))
        try:
            async with asyncio.timeout(timeout_s):
                await free.acquire()
        except TimeoutError as error:
            raise SlotsTaken(provider) from error
        try:
            yield
        finally:
            free.release()
