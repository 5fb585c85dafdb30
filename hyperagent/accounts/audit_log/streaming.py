"""The audit log as server-sent events: what is there, then what comes, each under its number. Ends when whoever reads
it may no longer.
"""

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic
from typing import Final
from uuid import UUID

from hyperagent.accounts.audit_log.access import may_still_read
from hyperagent.audit import reading, shapes
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.async_api import GO_ON, KEEP_ALIVE, MAX_BYTES, RETRY
from hyperagent.lib.threads import in_thread

LOOK_S: Final = 1.0
ALIVE_S: Final = 15.0
AT_ONCE: Final = 200
NO_LONGER: Final = b": this is no longer yours to read\n\n"


async def server_sent(
    after: int, *, user_id: UUID, token_id: UUID | None = None, session_key: str | None = None
) -> AsyncGenerator[bytes, None]:
    """The moment of each look asks anew whether it is still theirs to read, by the token or the session that asked."""

    def look(number: int) -> list[AuditEvent] | None:
        may = may_still_read(user_id, token_id=token_id, session_key=session_key)
        return reading.after(number, limit=AT_ONCE) if may else None

    number, sent, said_s = after, 0, monotonic()
    yield RETRY
    while True:
        rows = await in_thread(look)(number)
        if rows is None:
            yield NO_LONGER
            return
        for row in rows:
            part = _part(row)
            number, sent, said_s = row.number or number, sent + len(part), monotonic()
            yield part
        if sent > MAX_BYTES:
            yield GO_ON
            return
        if monotonic() - said_s > ALIVE_S:
            said_s = monotonic()
            yield KEEP_ALIVE
        if len(rows) < AT_ONCE:
            await asyncio.sleep(LOOK_S)


def _part(row: AuditEvent) -> bytes:
    return f"id: {row.number}\nevent: {row.kind}\ndata: {shapes.json_line(row)}\n\n".encode()
