"""What a program says: whole characters as they come, and of each stream a beginning and an end that are kept."""

import asyncio
import codecs
import os
from collections.abc import Callable
from typing import Final

from agents.sandbox.base import Heard, Stream
from hyperagent.lib.text import clean_text

_PIECE: Final = 1 << 16
# A server may write without end for as long as its box lives; that must not keep the loop busy.
_UNHURRIED_S: Final = 0.01


class Kept:
    """The first and the last half of `most_bytes`; what lies between is counted."""

    def __init__(self, most_bytes: int) -> None:
        self._half = max(1, most_bytes // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def add(self, piece: bytes) -> None:
        self.total_bytes += len(piece)
        room = self._half - len(self._head)
        self._head += piece[: max(0, room)]
        self._tail += piece[max(0, room) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def text(self) -> str:
        """What was cut says so, where it was cut and at the end."""
        tail = bytes(self._tail[-self._half :])
        missing = self.total_bytes - len(self._head) - len(tail)
        if missing <= 0:
            return clean_text((bytes(self._head) + tail).decode("utf-8", "replace"))
        # A character that the cut went through is no fault of the program's.
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        whole = tail.lstrip(bytes(range(0x80, 0xC0))) if len(tail) > 3 else tail
        end = whole.decode("utf-8", "replace")
        told = f"\n[... {missing:,} bytes are left out here ...]\n"
        return clean_text(f"{head}{told}{end}\n[The output was cut: it had {self.total_bytes:,} bytes.]")


class Output:
    """Both streams of one program. `too_much` is called once, when together they pass `most_bytes`; what comes after is
    read without haste and dropped."""

    def __init__(self, *, kept_bytes: int, most_bytes: int, heard: Heard | None, too_much: Callable[[], None]) -> None:
        self.kept: dict[Stream, Kept] = {"stdout": Kept(kept_bytes), "stderr": Kept(kept_bytes)}
        self._left = most_bytes
        self._heard = heard
        self._too_much = too_much

    async def follow(self, stream: Stream, fd: int) -> None:
        """To its end. The file is closed in every case."""
        reader, transport = await _reader_of(fd)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            while piece := await reader.read(_PIECE):
                if self._left <= 0:
                    await asyncio.sleep(_UNHURRIED_S)
                    continue
                self._take(stream, piece, decoder)
            self._tell(stream, decoder.decode(b"", final=True))
        finally:
            transport.close()

    def _take(self, stream: Stream, piece: bytes, decoder: codecs.IncrementalDecoder) -> None:
        piece = piece[: self._left]
        self._left -= len(piece)
        self.kept[stream].add(piece)
        self._tell(stream, decoder.decode(piece))
        if self._left <= 0:
            self._too_much()

    def _tell(self, stream: Stream, text: str) -> None:
        if text and self._heard is not None:
            self._heard(stream, clean_text(text))


async def _reader_of(fd: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=_PIECE)
    pipe = os.fdopen(fd, "rb", buffering=0)
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
    except BaseException:
        pipe.close()
        raise
    return reader, transport
