"""How long one piece of work keeps all others of its loop from going on."""

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def with_longest_pause_s(work: Awaitable[T]) -> tuple[T, float]:
    longest_s = 0.0

    async def look() -> None:
        nonlocal longest_s
        while True:
            before = time.monotonic()
            await asyncio.sleep(0)
            longest_s = max(longest_s, time.monotonic() - before)

    looking = asyncio.ensure_future(look())
    await asyncio.sleep(0)  # it has begun to look
    try:
        return await work, longest_s
    finally:
        looking.cancel()
