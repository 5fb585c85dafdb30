"""What a killed supervisor left running: a ledger of its processes, and their end at the next start."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Entry:
    name: str
    pid: int
    birth: str
    """Tells this process from a later one of the same number."""
    stop_signal: int


class Ledger:
    """The processes that run now, on disk: a few lines, rewritten whenever one starts or ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[int, Entry] = {}

    def add(self, name: str, pid: int, stop_signal: signal.Signals) -> None:
        self._entries[pid] = Entry(name, pid, birth_of(pid), stop_signal)
        self._write()

    def remove(self, pid: int) -> None:
        if self._entries.pop(pid, None) is not None:
            self._write()

    def end_leftovers(self) -> list[str]:
        """Stops what an earlier supervisor's ledger still names, and returns the names. Blocks up to TIMEOUT_S."""
        left = [entry for entry in self._read() if birth_of(entry.pid) == entry.birth]
        for entry in left:
            with suppress(ProcessLookupError):
                os.kill(entry.pid, entry.stop_signal)
        deadline = time.monotonic() + TIMEOUT_S
        for entry in left:
            while birth_of(entry.pid) == entry.birth and time.monotonic() < deadline:
                time.sleep(0.05)
            # It led a group of its own. (Groups of entries that were gone are let be: the number may be anybody's.)
            kill_group(entry.pid)
        self._write()
        return [entry.name for entry in left]

    def _read(self) -> list[Entry]:
        try:
            return [Entry(**entry) for entry in json.loads(self.path.read_text())]
        except (OSError, ValueError, TypeError):
            return []

    def _write(self) -> None:
        """Where the disk is full, the one from before stays: what runs is not to end of that."""
        fresh = self.path.with_suffix(".new")
        with suppress(OSError):
            fresh.write_text(json.dumps([asdict(entry) for entry in self._entries.values()]))
            fresh.replace(self.path)


def kill_group(leader: int) -> None:
    """Kills what is left of the group that `leader` led."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def birth_of(pid: int) -> str:
    """When the process started, in the system's own words; empty if it is gone or a zombie."""
    try:
        # The program's name, in parentheses, may hold spaces; fields are counted after it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except OSError:
        if Path("/proc/self").exists():
            return ""
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()
