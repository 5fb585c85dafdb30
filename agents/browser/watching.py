"""A picture of what a browser shows at this moment, for people who watch it. Changes nothing in it.

Speaks to Chromium itself, in the few words of a WebSocket (RFC 6455) that one question takes: the process that shows
pages has no Playwright.
"""

import asyncio
import base64
import json
import secrets
from typing import Any, Final

from agents.browser.chromium import DEBUGGING_PORT, asked
from agents.sandbox.base import Box, BoxGone, SandboxError

_WITHIN_S: Final = 10.0
_MOST_BYTES: Final = 8 << 20
_ID: Final = 1
_ASKED: Final = {"id": _ID, "method": "Page.captureScreenshot", "params": {"format": "jpeg", "quality": 60}}
_LAST, _TEXT, _MASKED = 0x80, 0x01, 0x80
_SHORT: Final = 126


async def frame(box: Box) -> bytes:
    """A JPEG; empty where no browser runs, or it does not answer. Raises BoxGone."""
    found = await asked(box, "/json/list")
    pages = [one for one in found if _is_page(one)] if isinstance(found, list) else []
    if not pages:
        return b""
    try:
        async with asyncio.timeout(_WITHIN_S):
            reader, writer = await box.connect(DEBUGGING_PORT)
            try:
                return await _captured(reader, writer, str(pages[0]["id"]))
            finally:
                writer.close()
    except BoxGone:
        raise
    except (
        SandboxError,
        OSError,
        EOFError,
        asyncio.LimitOverrunError,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
    ):
        return b""


async def _captured(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, page: str) -> bytes:
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    writer.write(
        f"GET /devtools/page/{page} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    # Not before: Chromium loses what comes along with the request.
    writer.write(_framed(json.dumps(_ASKED).encode()))
    while True:
        told = json.loads(await _message(reader))
        if told.get("id") == _ID:
            return base64.b64decode(told["result"]["data"])


def _framed(said: bytes) -> bytes:
    """One message; a client's are masked."""
    mask = secrets.token_bytes(4)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(said))
    length = bytes([_MASKED | len(said)]) if len(said) < _SHORT else bytes([_MASKED | _SHORT]) + len(said).to_bytes(2)
    return bytes([_LAST | _TEXT]) + length + mask + masked


async def _message(reader: asyncio.StreamReader) -> bytes:
    """The next whole one. Raises ValueError where it is too large."""
    message = b""
    while True:
        head = await reader.readexactly(2)
        length = head[1] & 0x7F
        if length >= _SHORT:
            length = int.from_bytes(await reader.readexactly(2 if length == _SHORT else 8))
        if len(message) + length > _MOST_BYTES:
            raise ValueError("the message is too large")
        message += await reader.readexactly(length)
        if head[0] & _LAST:
            return message


def _is_page(one: Any) -> bool:
    """What the box says is not trusted: the id becomes part of a request."""
    return (
        isinstance(one, dict)
        and one.get("type") == "page"
        and str(one.get("id", "")).isalnum()
        and str(one["id"]).isascii()
    )
