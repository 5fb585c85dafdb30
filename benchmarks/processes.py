"""What processes cost, read from /proc: CPU of a process with its children, memory, the machine's load."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Places of utime, stime, cutime and cstime after the program's name, which may hold spaces.
_TIMES = slice(11, 15)


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one process, in bytes. `shared_fairly`: PSS, where pages shared by N count as one Nth."""

    resident: int
    shared_fairly: int


def tree(pid: int) -> list[int]:
    """The process and all of its living descendants."""
    children: dict[int, list[int]] = {}
    for one in _all():
        fields = _stat(one)
        if fields:
            children.setdefault(int(fields[1]), []).append(one)
    found, open_pids = [], [pid]
    while open_pids:
        one = open_pids.pop()
        found.append(one)
        open_pids += children.get(one, [])
    return found


def find(root: int, words: str) -> int | None:
    """The first descendant of `root` whose command line has these words."""
    return next((pid for pid in tree(root) if words in _command(pid)), None)


def cpu_s(pids: Iterable[int]) -> float:
    """User and system time of these processes, and of those of their children that have ended."""
    return sum(sum(map(int, fields[_TIMES])) for pid in pids if (fields := _stat(pid))) / _TICKS_A_SECOND


def cpu_by_part(parts: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds so far by part; each part is the tree below its process, without the other parts in it."""
    trees = {name: tree(pid) for name, pid in parts.items()}
    others = {name: {pid for other, pid in parts.items() if other != name} for name in parts}
    return {name: cpu_s(_without(trees[name], others[name])) for name in parts}


def memory(pid: int) -> Memory:
    fields = {}
    for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]:
        name, amount, *_ = line.split()
        fields[name.rstrip(":")] = int(amount) * 1024
    return Memory(resident=fields["Rss"], shared_fairly=fields["Pss"])


def machine_busy_s() -> float:
    """CPU seconds that the whole machine has worked, all cores together."""
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(
        int, (PROC / "stat").read_text().splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq + steal) / _TICKS_A_SECOND


def _without(pids: list[int], parts: set[int]) -> set[int]:
    left = set(pids)
    for part in parts & left:
        left -= set(tree(part))
    return left


def _all() -> Iterable[int]:
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str] | None:
    """The fields after the program's name; None for a process that has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
