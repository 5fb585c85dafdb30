"""Why the proxy did not connect: in its own answer, or asked of it once more, for Chromium does not tell."""

import asyncio
import re
from collections.abc import Mapping
from typing import Final

import h11

from agents.browser.proxy import STATUS_HEADER
from agents.sandbox.base import Box, SandboxError
from agents.sandbox.specs import WEB_PORT
from hyperagent.lib.outside.addresses import Address

_WITHIN_S: Final = 20.0
_READ_BYTES: Final = 1 << 16
_DETAILS: Final = re.compile(r'^HyperAgent; error=[a-z_]+; details="([^"]*)"$')


def reason_in(headers: Mapping[str, str]) -> str:
    """A sentence of ours; empty where the answer is a site's. Only for what the proxy has read: a site's own is taken
    out there."""
    found = _DETAILS.match(headers.get(STATUS_HEADER, ""))
    return found[1] if found else ""


async def why_no_tunnel(box: Box, address: Address) -> str:
    """Empty where the proxy gives no reason, or connects this time."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            return reason_in(await _answered(box, address))
    except (OSError, TimeoutError, SandboxError, h11.ProtocolError):
        return ""


async def _answered(box: Box, address: Address) -> dict[str, str]:
    host = f"[{address.host}]" if ":" in address.host else address.host
    target = f"{host}:{address.port}"
    reader, writer = await box.connect(WEB_PORT)
    try:
        state = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=_READ_BYTES)
        writer.write(state.send(h11.Request(method="CONNECT", target=target, headers=[("Host", target)])) or b"")
        writer.write(state.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        while (event := state.next_event()) is h11.NEED_DATA:
            state.receive_data(await reader.read(_READ_BYTES))
        if not isinstance(event, h11.Response):
            return {}
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
    finally:
        writer.close()
