"""Looks at what only the kernel's slow answers tell of a process. They wait for a lock that the process holds while it
forks: one of a hundred that fork without end had kept the keeper waiting for seconds. So a fork of the keeper waits.
"""

from __future__ import annotations

import os
import time

from . import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_MAPPING_BYTES = 256  # what the kernel keeps of one


class Found:
    """`fair_bytes`: its own memory, with no more than its share of what is shared after a fork.  `lists_bytes`: the
    kernel's list of its mappings.  `shared`: memory that is shared without a file, by what names it: it stays in use
    when it is in nobody's pages, so it counts as it was asked for; where a process hides that, all that it has mapped.
    """

    __slots__ = ("fair_bytes", "lists_bytes", "shared")

    def __init__(self, fair_bytes: int, lists_bytes: int, shared: dict[str, int]) -> None:
        self.fair_bytes = fair_bytes
        self.lists_bytes = lists_bytes
        self.shared = shared


class Scout:
    """One round over these processes. `found`: what it has told by now. `over`: it tells nothing more."""

    def __init__(self, pids: Sequence[int]) -> None:
        """Raises OSError."""
        told, tell = os.pipe()
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _look(pids, tell)
        except OSError:
            os.close(told)
            raise
        finally:
            os.close(tell)
        os.set_blocking(told, False)
        self.began = time.monotonic()
        self.found: dict[int, Found] = {}
        self.over = False
        self._told = told
        self._rest = b""

    def hear(self) -> None:
        while not self.over:
            try:
                text = os.read(self._told, 1 << 16)
            except BlockingIOError:
                return
            if not text:
                self.end()
            *lines, self._rest = (self._rest + text).split(b"\n")
            for line in lines:
                pid, fair, lists, *shared = line.decode().split(" ")
                regions = dict(zip(shared[::2], map(int, shared[1::2]), strict=True))
                self.found[int(pid)] = Found(int(fair), int(lists), regions)

    def end(self) -> None:
        """It may still wait for a lock, and dies when it has it."""
        if not self.over:
            self.over = True
            os.close(self._told)


def _look(pids: Sequence[int], tell: int) -> NoReturn:
    try:
        for pid in pids:
            lists, shared = _mappings(pid)
            words = [str(pid), str(processes.fair_memory_bytes(pid)), str(lists)]
            words += [word for name, size in shared.items() for word in (name, str(size))]
            os.write(tell, " ".join(words).encode() + b"\n")
    finally:
        os._exit(0)


def _mappings(pid: int) -> tuple[int, dict[str, int]]:
    count = 0
    shared: dict[str, int] = {}
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            for line in file:
                count += 1
                if line.endswith("/dev/zero (deleted)\n"):
                    span, _, _, _, inode = line.split()[:5]
                    start, _, end = span.partition("-")
                    shared[inode] = max(shared.get(inode, 0), int(end, 16) - int(start, 16))
    except PermissionError:
        shared[f"hidden-{pid}"] = processes.mapped_bytes(pid)
    except (OSError, ValueError):
        pass
    return count * _MAPPING_BYTES, shared
