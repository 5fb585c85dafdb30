"""What goes over a connection with the host of the boxes: JSON values and bytes, in frames with their length before.

Knows no box and no operation. Values are JSON with escapes, so that a file's name survives whatever bytes it has.
"""

import asyncio
import json
import struct
from typing import Any, Final

_HEAD: Final = struct.Struct(">cI")
_VALUE, _BYTES, _END = b"V", b"B", b"E"
# An outcome has two streams of 256 KiB, and a character may take six bytes here.
MOST_VALUE_BYTES: Final = 32 << 20
_CHUNK_BYTES: Final = 256 << 10
# Of what nobody reads; a teller that does not wait leaves out what would come on top.
MOST_UNREAD_BYTES: Final = 8 << 20


class BadFrame(Exception):
    """The other side does not speak this."""


class Wire:
    """One connection. One reader and one writer at a time; the two may be different tasks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, value: Any) -> None:
        """Waits until the other side reads. Raises OSError where it is gone."""
        self._put(value)
        await self.writer.drain()

    def say_now(self, value: Any) -> bool:
        """Without waiting; False where the other side has left too much unread, and this was not said."""
        transport = self.writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            return False
        self._put(value)
        return True

    async def say_bytes(self, content: bytes) -> None:
        for start in range(0, len(content), _CHUNK_BYTES):
            chunk = content[start : start + _CHUNK_BYTES]
            self.writer.write(_HEAD.pack(_BYTES, len(chunk)))
            self.writer.write(chunk)
            await self.writer.drain()
        self.writer.write(_HEAD.pack(_END, 0))
        await self.writer.drain()

    async def hear(self) -> Any:
        """The next value. Raises EOFError when the other side has ended, and BadFrame."""
        kind, length = await self._head()
        if kind != _VALUE or length > MOST_VALUE_BYTES:
            raise BadFrame(f"a frame {kind!r} of {length} bytes where a value was expected")
        return json.loads(await self._exactly(length))

    async def hear_bytes(self, *, max_bytes: int) -> bytes:
        """Raises EOFError and BadFrame; of more than `max_bytes` nothing is kept."""
        chunks: list[bytes] = []
        size = 0
        while True:
            kind, length = await self._head()
            if kind == _END:
                return b"".join(chunks)
            size += length
            if kind != _BYTES or length > _CHUNK_BYTES or size > max_bytes:
                raise BadFrame(f"a frame {kind!r} of {length} bytes: {size:,} in all, and at most {max_bytes:,}")
            chunks.append(await self._exactly(length))

    def close(self) -> None:
        self.writer.close()

    def _put(self, value: Any) -> None:
        body = json.dumps(value, separators=(",", ":")).encode()
        if len(body) > MOST_VALUE_BYTES:
            raise BadFrame(f"a value of {len(body):,} bytes is too large")
        self.writer.write(_HEAD.pack(_VALUE, len(body)))
        self.writer.write(body)

    async def _head(self) -> tuple[bytes, int]:
        kind, length = _HEAD.unpack(await self._exactly(_HEAD.size))
        return kind, length

    async def _exactly(self, size: int) -> bytes:
        try:
            return await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise EOFError("the connection has ended") from error
