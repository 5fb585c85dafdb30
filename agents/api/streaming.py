"""A run as server-sent events: the same events in the same order as on the socket, each under its number."""

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing

from agents.following import follow
from agents.models import Execution
from hyperagent.lib import outage

log = logging.getLogger(__name__)

# The server buffers what a client does not read, so one response is bounded. The client goes on from its last number.
MAX_BYTES = 8_000_000
KEEP_ALIVE = b": still here\n\n"
GO_ON = b": enough for one response; ask again with Last-Event-ID\n\n"
RETRY = b"retry: 1000\n\n"


async def server_sent(execution: Execution, after: int) -> AsyncIterator[bytes]:
    """Ends after the last event. If the client leaves, only the telling ends: the run goes on."""
    sent = 0
    yield RETRY
    try:
        async with aclosing(follow(execution, after)) as events:
            async for event in events:
                part = (
                    KEEP_ALIVE
                    if event is None
                    else f"id: {event.seq}\nevent: {event.type}\ndata: {event.body}\n\n".encode()
                )
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
