"""A run as server-sent events: the same events in the same order as on the socket, each under its number."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import orjson

from agents.following import follow
from agents.models import Execution
from agents.reading import LoggedEvent
from hyperagent.lib import outage

log = logging.getLogger(__name__)

# The server buffers what a client does not read, so one response is bounded. The client goes on from its last number.
MAX_BYTES = 8_000_000
KEEP_ALIVE = b": still here\n\n"
GO_ON = b": enough for one response; ask again with Last-Event-ID\n\n"
RETRY = b"retry: 1000\n\n"


async def server_sent(
    execution: Execution,
    after: int,
    *,
    told_as: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    run: str = "",
) -> AsyncIterator[bytes]:
    """Ends after the last event. If the client leaves, only the telling ends: the run goes on.

    `told_as` gives each event another shape, for programs that know older ones. `run`: what stands before each number,
    where a client that comes back says nothing else of which run it had.
    """
    sent = 0
    yield RETRY
    try:
        async with aclosing(follow(execution, after)) as events:
            async for event in events:
                part = KEEP_ALIVE if event is None else _part(event, told_as, run)
                yield part
                sent += len(part)
                if sent > MAX_BYTES:
                    yield GO_ON
                    return
    except Exception as error:
        if not outage.is_outage(error):
            raise
        # The headers are out: the response can only end. Clients of event streams come back by themselves.
        log.warning("the stream of execution %s ends early: %s", execution.id, error)


def _part(event: LoggedEvent, told_as: Callable[[dict[str, Any]], dict[str, Any]] | None, run: str) -> bytes:
    kind, body = event.type, event.body
    if told_as is not None:
        told = told_as(orjson.loads(body))
        kind, body = told["type"], orjson.dumps(told).decode()
    return f"id: {run}{event.seq}\nevent: {kind}\ndata: {body}\n\n".encode()
