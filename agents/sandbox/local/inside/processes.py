"""What lives in the box and what it takes, read from /proc and from the folders in memory."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final

    Parents = Mapping[int, int]

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_DEAD: Final = ("Z", "X")
# What the kernel may keep in one; a box had taken 4.5 GiB of a machine by sockets.
_SOCKET_BYTES: Final = 212_992
_FREE_SOCKETS: Final = 64
_FREE_TCP: Final = 4


def living() -> dict[int, int]:
    """The parent of each process but the first; zombies have ended."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                # A program may put anything into its own name, parentheses too.
                state, parent = file.read(512).decode("latin-1").rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in _DEAD:
            parents[int(name)] = int(parent)
    return parents


def anything_left() -> bool:
    """Zombies too: whoever looks sees them."""
    return any(name.isdigit() and name != "1" for name in os.listdir("/proc"))


def below(root: int, parents: Parents) -> set[int]:
    """The descendants of `root`, without it."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    ahead = [root]
    while ahead:
        for pid in children.get(ahead.pop(), ()):
            if pid not in found:
                found.add(pid)
                ahead.append(pid)
    return found


def own_memory_bytes(pid: int) -> int:
    """Memory that is of no file. Of pages that several processes share after a fork each counts all."""
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            fields = file.read(128).split()
        return (int(fields[1]) - int(fields[2])) * PAGE
    except (OSError, ValueError, IndexError):
        return 0


def fair_memory_bytes(pid: int) -> int:
    """As `own_memory_bytes`, with its share only of what it shares. The kernel walks all its pages for that."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb", buffering=0) as file:
            for line in file.read(4096).splitlines():
                if line.startswith(b"Pss_Anon:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return own_memory_bytes(pid)


def mapped_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            return int(file.read(128).split()[0]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0


def tables_and_shared_bytes(pid: int) -> tuple[int, int]:
    """Its page tables, which reading memory that was never written fills without taking a page; and how much of its
    memory is shared."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            text = file.read(4096)
        return _kilobytes(text, b"VmPTE:"), _kilobytes(text, b"RssShmem:")
    except (OSError, ValueError, IndexError):
        return 0, 0


def _kilobytes(status: bytes, name: bytes) -> int:
    return int(status.partition(name)[2].split(maxsplit=1)[0]) * 1024


def socket_bytes() -> int:
    """What waits in sockets of the box's network, which is its own. Of those that do not tell, what one may hold."""
    waiting = 0
    try:
        with open("/proc/net/protocols", "rb", buffering=0) as file:
            rows = [line.split()[:3] for line in file.read().splitlines()[1:]]
        counts = {row[0]: int(row[2]) for row in rows}
        silent = sum(counts.get(name, 0) for name in (b"UNIX", b"UNIX-STREAM", b"UDP", b"UDPv6"))
        waiting += max(0, silent - _FREE_SOCKETS) * _SOCKET_BYTES
        for name, kind in (("tcp", b"TCP"), ("tcp6", b"TCPv6")):
            if counts.get(kind, 0) > _FREE_TCP:
                with open(f"/proc/net/{name}", "rb", buffering=0) as file:
                    waiting += sum(_queued_bytes(line) for line in file.read().splitlines()[1:])
    except (OSError, ValueError, IndexError):
        pass
    return waiting


def _queued_bytes(line: bytes) -> int:
    sent, _, received = line.split()[4].partition(b":")
    return int(sent, 16) + int(received, 16)


def folder_bytes(folders: Iterable[str]) -> int:
    used = 0
    for folder in folders:
        facts = os.statvfs(folder)
        used += (facts.f_blocks - facts.f_bfree) * facts.f_frsize
    return used
