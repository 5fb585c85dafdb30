"""A run as server-sent events: the same events in the same order as on the socket, each under its number."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson

from agents.log.following import follow
from agents.log.reading import LoggedEvent
from agents.models import Execution
from hyperagent.lib.async_api import GO_ON, KEEP_ALIVE, MAX_BYTES, RETRY


async def server_sent(
    execution: Execution,
    after: int,
    *,
    told_as: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    run: str = "",
) -> AsyncGenerator[bytes, None]:
    """Ends after the last event. If the client leaves, only the telling ends: the run goes on.

    `told_as` gives each event another shape, for programs that know older ones. `run`: what stands before each number,
    where a client that comes back says nothing else of which run it had.
    """
    sent = 0
    yield RETRY
    async with aclosing(follow(execution, after)) as events:
        async for event in events:
            part = KEEP_ALIVE if event is None else _part(event, told_as, run)
            yield part
            sent += len(part)
            if sent > MAX_BYTES:
                yield GO_ON
                return


def _part(event: LoggedEvent, told_as: Callable[[dict[str, Any]], dict[str, Any]] | None, run: str) -> bytes:
    kind, body = event.type, event.body
    if told_as is not None:
        told = told_as(orjson.loads(body))
        kind, body = told["type"], orjson.dumps(told).decode()
    return f"id: {run}{event.seq}\nevent: {kind}\ndata: {body}\n\n".encode()
