"""Runs a reader of files in a child process, and trusts nothing that comes from there. Knows no file format."""

import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import orjson

from hyperagent.lib.text import clean_text
from hyperagent.lib.yielding import let_through
from memory.kinds import BlockKind
from memory.reading import caps, reasons
from memory.reading.values import Facts, Unreadable
from memory.values import Block, Page

_CHILD: Final = Path(__file__).with_name("child.py")
_LENGTH: Final = struct.Struct(">I")
_CHUNK_BYTES: Final = 256 * 1024


class Reading(Iterator[Facts | Page]):
    """Facts, then the pages as they are read, then Facts again. Whoever stops early closes it: that ends the child."""

    def __init__(self, frames: Generator[dict[str, Any], None, None]) -> None:
        self._frames = frames

    def __next__(self) -> Facts | Page:
        frame = next(self._frames)
        try:
            return _page(frame["page"]) if "page" in frame else _facts(frame["facts"])
        except (KeyError, TypeError, ValueError) as error:
            self.close()
            raise reasons.reader_died() from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._frames.close()


def read(
    path: Path,
    *,
    doc_type: str,
    filename: str,
    first_page: int = 1,
    silent: Sequence[int] = (),
    is_awaited: bool = False,
    wait_s: float = caps.FRAME_WAIT_S,
) -> Reading:
    """Reads the file from `first_page` on. Use it in `with`. Raises Unreadable, and no other error, on the way.
    `silent`: those of the pages before that had no text, so that the note at the end is of all. `is_awaited`: a run
    waits for it, so that it gets more of a machine that is busy. `wait_s`: for each frame at most.

    The child starts with the first `next` and holds no more than the pipe takes: who is slow makes it wait.
    """
    request = {
        "do": "read",
        "path": str(path.absolute()),
        "doc_type": doc_type,
        "filename": filename,
        "first_page": first_page,
        "silent": list(silent),
        "is_awaited": is_awaited,
    }
    return Reading(frames(request, size_bytes=path.stat().st_size, wait_s=wait_s))


def frames(
    request: dict[str, Any], *, size_bytes: int, program: Path = _CHILD, wait_s: float = caps.FRAME_WAIT_S
) -> Generator[dict[str, Any], None, None]:
    """What the child answers, frame by frame, up to its last word. Raises Unreadable if it says so, dies or rambles."""
    if size_bytes == 0:
        raise reasons.empty()
    if size_bytes > caps.FILE_BYTES:
        raise reasons.too_large(size_bytes)
    command = (sys.executable, "-I", "-B", "-X", "utf8", str(program), str(os.getpid()), json.dumps(request))
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/",
        start_new_session=True, bufsize=0,
    )  # fmt: skip
    try:
        yield from _frames_of(_Pipe(child, wait_s))
    finally:
        let_through(child.pid)
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def _frames_of(pipe: "_Pipe") -> Generator[dict[str, Any], None, None]:
    while True:
        (length,) = _LENGTH.unpack(pipe.take(_LENGTH.size))
        if length > caps.FRAME_BYTES:
            raise reasons.reader_died()
        frame = _decoded(pipe.take(length))
        if "end" in frame:
            return
        if "unreadable" in frame:
            raise _said_by_child(frame["unreadable"])
        yield frame


def _said_by_child(said: Any) -> Unreadable:
    match said:
        case [str(code), str(message)]:
            return Unreadable(clean_text(code), clean_text(message))
        case _:
            return reasons.reader_died()


class _Pipe:
    """Reads from the child, each time with a deadline, and says why when there is no more."""

    def __init__(self, child: "subprocess.Popen[bytes]", wait_s: float) -> None:
        assert child.stdout is not None
        self._wait_s = wait_s
        self._child = child
        self._fd = child.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def take(self, count: int) -> bytes:
        deadline = time.monotonic() + self._wait_s
        taken = bytearray()
        while len(taken) < count:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not self._poll.poll(left_s * 1000):
                raise reasons.too_slow()
            more = os.read(self._fd, min(_CHUNK_BYTES, count - len(taken)))
            if not more:
                raise self._why_it_ended()
            taken += more
        return bytes(taken)

    def _why_it_ended(self) -> Unreadable:
        try:
            status = self._child.wait(timeout=self._wait_s)
        except subprocess.TimeoutExpired:
            return reasons.too_slow()
        if status == -signal.SIGXCPU:
            return reasons.too_slow()
        if status in (-signal.SIGABRT, -signal.SIGKILL):
            # Libraries that are refused memory abort, and the kernel kills.
            return reasons.too_much_memory()
        return reasons.reader_died()


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        frame = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise reasons.reader_died() from error
    if not isinstance(frame, dict):
        raise reasons.reader_died()
    return frame


def _facts(fields: dict[str, Any]) -> Facts:
    day = fields["date"]
    return Facts(
        total_pages=int(fields["total_pages"]), title=clean_text(str(fields["title"])),
        date=date.fromisoformat(day) if day else None, note=clean_text(str(fields["note"])),
    )  # fmt: skip


def _page(fields: dict[str, Any]) -> Page:
    """Raises ValueError, KeyError or TypeError for a page that is none."""
    text = clean_text(str(fields["text"]))
    blocks = tuple(
        Block(BlockKind(kind), int(start), int(end), int(level)) for kind, level, start, end in fields["blocks"]
    )
    last = 0
    for block in blocks:
        if not last <= block.start <= block.end <= len(text):
            raise ValueError(f"a block at {block.start} to {block.end} in a text of {len(text)}, after one to {last}")
        last = block.end
    return Page(number=int(fields["number"]), text=text, blocks=blocks, title=clean_text(str(fields["title"])))
