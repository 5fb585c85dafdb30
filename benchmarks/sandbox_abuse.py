"""Hostile programs, each run in a box of its own and judged by what its second line
expects, by what it printed, and by what the machine looks like around it. No program is run outside a box."""

import asyncio
import hashlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import psutil

from agents.sandbox.base import HOME, Box, BoxSpec, Command, Ending, Outcome, SandboxError, SandboxProvider

WALL_S: Final = 6.0
BURIED_S: Final = 0.5
PROGRAM: Final = "/tmp/hyperagent/program.py"
HOST_FILES: Final = ("/etc/passwd", "/etc/shadow", "/etc/group", "/proc/sys/kernel/core_pattern")
MOST_HOST_BYTES: Final = 2 << 30
MOST_GROWTH_BYTES: Final = 32 << 20
CLEAN: Final = "print('clean')"


@dataclass(frozen=True)
class Judged:
    name: str
    must: str
    expected: str
    ending: str
    seconds: float
    ended_s: float
    faults: list[str] = field(default_factory=list)

    @property
    def contained(self) -> bool:
        return not self.faults


@dataclass
class Host:
    """What a program may not have touched."""

    files: str
    memory_lost_bytes: int = 0
    disk_lost_bytes: int = 0
    parent_grew_bytes: int = 0
    connected: int = 0


async def judged_all(
    provider: SandboxProvider, folder: Path, only: str, heard: Callable[[Judged], None]
) -> list[Judged]:
    found = []
    for path in sorted(folder.glob(f"{only}.py")):
        one = await judged(provider, path)
        heard(one)
        found.append(one)
    return found


async def judged(provider: SandboxProvider, path: Path) -> Judged:
    text = path.read_text()
    must, expected = (line.partition(":")[2].strip() for line in text.splitlines()[:2])
    before = _digest()
    with _watched(Host(before)) as (host, port):
        box = await provider.open(BoxSpec(key=path.stem))
        try:
            await box.write(PROGRAM, text.encode())
            began = time.monotonic()
            outcome = await box.run(Command(["python3", PROGRAM], env={"PROBE_PORT": str(port)}, wall_s=WALL_S))
            ended_s = time.monotonic() - began
            faults = [*_faults(expected, path.stem, outcome), *await _left(box)]
        finally:
            await box.close()
    faults += _host_faults(host)
    return Judged(path.stem, must, expected, outcome.ending.value, outcome.seconds, round(ended_s, 3), faults)


def _faults(expected: str, name: str, outcome: Outcome) -> list[str]:
    """By what the program says of itself; of what it was not to do it prints ESCAPE, WROTE or REACHED."""
    said = outcome.stdout + outcome.stderr
    faults = [line for line in said.splitlines() if line.startswith(("ESCAPE", "WROTE", "REACHED")) and not _fair(line)]
    ending = outcome.ending
    if expected == "control" and (ending is not Ending.EXITED or outcome.exit_code != 0):
        faults.append(f"did not succeed: {ending.value} {outcome.exit_code} {outcome.stderr[-200:]}")
    if name == "c01_ok_compute" and outcome.stdout.strip() != "499999500000":
        faults.append(f"computed {outcome.stdout[:80]!r}")
    if expected == "timeout" and ending is not Ending.TIMED_OUT:
        faults.append(f"ended as {ending.value}")
    if expected == "output_cap" and ending is not Ending.TOO_MUCH_OUTPUT:
        faults.append(f"ended as {ending.value}")
    if name == "r02_memory_hog" and ending is not Ending.OUT_OF_MEMORY:
        faults.append(f"ended as {ending.value}")
    limited = ending is not Ending.EXITED or "LIMITED" in said or outcome.exit_code != 0
    if expected in ("killed_or_limited", "limited") and not limited:
        faults.append("was not limited")
    return faults


def _fair(line: str) -> bool:
    """The working folder, and that it lies in a folder, is no escape."""
    return line in (f"ESCAPE {HOME}", f"ESCAPE /home ['{Path(HOME).name}']")


async def _left(box: Box) -> list[str]:
    """Nothing runs on, nothing was planted, and what comes out are ordinary files."""
    if not box.alive:
        return ["the box was lost"]
    faults = []
    others = await _others(box)
    if others:
        # What has died is buried a moment later.
        await asyncio.sleep(BURIED_S)
        others = await _others(box)
    if others:
        faults.append(f"left running: {others[:3]}")
    after = await box.run(Command(["python3", "-c", CLEAN], wall_s=WALL_S))
    if after.stdout != "clean\n":
        faults.append(f"the next run was changed: {after.ending.value} {after.stdout[:80]!r} {after.stderr[-200:]!r}")
    if await _came_out(box):
        faults.append("a file of the host came out")
    return faults


async def _others(box: Box) -> list[str]:
    listed = await box.run(Command(["ps", "-e", "-o", "pid=,args="], wall_s=WALL_S))
    return [line for line in listed.stdout.splitlines() if "keeper" not in line and " ps " not in line]


async def _came_out(box: Box) -> bool:
    """Nothing that a link leads to is taken, and too much is refused."""
    names = [file.path for file in await box.files()]
    try:
        packed = await box.pack([HOME], max_bytes=4 << 20)
    except SandboxError:
        return False
    return b"root:" in packed or any("passwd" in name or "shadow" in name for name in names)


def _host_faults(host: Host) -> list[str]:
    faults = []
    if _digest() != host.files:
        faults.append("files of the host were changed")
    if host.connected:
        faults.append(f"{host.connected} connections reached the host")
    for what, lost in (("memory", host.memory_lost_bytes), ("disk", host.disk_lost_bytes)):
        if lost > MOST_HOST_BYTES:
            faults.append(f"the host lost {lost >> 20} MiB of {what}")
    if host.parent_grew_bytes > MOST_GROWTH_BYTES:
        faults.append(f"the parent grew by {host.parent_grew_bytes >> 20} MiB")
    return faults


def _digest() -> str:
    """Of files that nobody else changes while this runs."""
    seen = hashlib.sha256()
    for name in HOST_FILES:
        try:
            seen.update(Path(name).read_bytes())
        except OSError:
            seen.update(b"unreadable")
    return seen.hexdigest()


@contextmanager
def _watched(host: Host) -> Iterator[tuple[Host, int]]:
    """Looks at the host twenty times a second, and listens at a port that no box may reach."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        watcher = threading.Thread(target=_watch, args=(host, listener, stop))
        watcher.start()
        try:
            yield host, listener.getsockname()[1]
        finally:
            stop.set()
            watcher.join()


def _watch(host: Host, listener: socket.socket, stop: threading.Event) -> None:
    parent = psutil.Process(os.getpid())
    memory, disk, own = psutil.virtual_memory().available, psutil.disk_usage("/").free, parent.memory_info().rss
    while not stop.is_set():
        try:
            connection, _ = listener.accept()
            host.connected += 1
            connection.close()
        except TimeoutError:
            pass
        host.memory_lost_bytes = max(host.memory_lost_bytes, memory - psutil.virtual_memory().available)
        host.disk_lost_bytes = max(host.disk_lost_bytes, disk - psutil.disk_usage("/").free)
        host.parent_grew_bytes = max(host.parent_grew_bytes, parent.memory_info().rss - own)


def row(one: Judged) -> str:
    verdict = "contained" if one.contained else f"FAIL {'; '.join(one.faults)[:160]}"
    return f"{one.name:<34} {one.expected:<18} {one.ending:<16} {one.ended_s:>7.2f} s  {verdict}"


def as_json(found: list[Judged]) -> list[dict[str, object]]:
    return [asdict(one) for one in found]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def twenty_at_once(provider: SandboxProvider, folder: Path) -> list[str]:
    """The worst of them, twenty boxes at the same time. What remains wrong."""
    worst = ("r01_fork_bomb", "r03_memory_hog_many_processes", "r07_infinite_stdout", "r12_background_daemon")
    programs = [folder / f"{worst[number % len(worst)]}.py" for number in range(20)]

    async def one(number: int, path: Path) -> list[str]:
        box = await provider.open(BoxSpec(key=f"{path.stem} {number}"))
        try:
            await box.write(PROGRAM, path.read_bytes())
            outcome = await box.run(Command(["python3", PROGRAM], wall_s=WALL_S))
            return [*_faults("", path.stem, outcome), *await _left(box)]
        finally:
            await box.close()

    with _watched(Host(_digest())) as (host, _):
        faults = await asyncio.gather(*(one(number, path) for number, path in enumerate(programs)))
    host.memory_lost_bytes = 0  # twenty may take twenty times as much
    return [fault for some in faults for fault in some] + _host_faults(host)
