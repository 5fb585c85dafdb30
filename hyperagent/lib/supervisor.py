"""Keeps a set of programs alive: ordered start, health waits, one log, restarts, an orderly stop. Knows none of them.

Run it on the main thread: the kernel ends a child together with the thread that started it.
"""

import asyncio
import itertools
import json
import os
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from hyperagent.lib.child import command_of
from hyperagent.lib.leftovers import Ledger, kill_group
from hyperagent.lib.yielding import let_through

COLOURS = (36, 33, 35, 32, 34, 96, 93, 95)
MAX_LINE_BYTES = 1 << 20
# A program that was ready and lived this long is taken for healthy: its next death is the first again.
STEADY_S = 15.0
FIRST_DELAY_S, MAX_DELAY_S, MAX_DOUBLINGS = 0.2, 30.0, 16
# At its first start a program may die this often before the start is given up.
MAX_DEATHS_AT_START = 3
WORRY_AFTER_DEATHS = 5
UNREADY = "is not ready"


@dataclass(frozen=True)
class Program:
    """One program to be kept alive. `env` is its whole environment."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    is_ready: Callable[[], bool] | None = None
    """Asked in a thread until it says yes; without it the program is ready as soon as it runs."""
    before_start: Callable[[], None] | None = None
    after_death: Callable[[], Awaitable[None]] | None = None
    ready_timeout_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 12.0
    user: str | None = None
    cwd: Path | None = None
    has_prefix: bool = False
    """Its lines carry a prefix already: it is a supervisor itself."""


class StartFailed(Exception):
    """A program did not get ready; `last_words` are its last lines."""

    def __init__(self, name: str, why: str, last_words: tuple[str, ...] = ()) -> None:
        super().__init__(f"{name} {why}")
        self.last_words = last_words


class Log:
    """One stream for all: each line with the name of its process before it, or bare where machines read JSON."""

    def __init__(self, stream: TextIO, *, as_json: bool = False) -> None:
        self.stream = stream
        self.as_json = as_json
        self.coloured = stream.isatty() and "NO_COLOR" not in os.environ and not as_json
        self._colours = itertools.cycle(COLOURS)
        self._prefixes: dict[str, str] = {}

    def line(self, name: str, text: str) -> None:
        """What a process wrote."""
        self._write(text if self.as_json else f"{self._prefix(name)}{text}")

    def say(self, name: str, text: str) -> None:
        """What the supervisor says about it."""
        self.line(name, json.dumps({"level": "info", "logger": name, "event": text}) if self.as_json else text)

    def _prefix(self, name: str) -> str:
        if name and name not in self._prefixes:
            label = f"{name:<9}|"
            self._prefixes[name] = f"\x1b[{next(self._colours)}m{label}\x1b[0m " if self.coloured else f"{label} "
        return self._prefixes.get(name, "")

    def _write(self, text: str) -> None:
        # The reader may be gone; the processes must go on, or stop in order.
        with suppress(OSError):
            self.stream.write(f"{text}\n")
            self.stream.flush()


@dataclass
class _Child:
    program: Program
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    gave_up: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    began_s: float = field(default_factory=time.monotonic)
    output: int = -1
    keeper: asyncio.Task[Any] | None = None
    deaths: int = 0
    is_stopping: bool = False
    is_restarting: bool = False
    last_words: deque[str] = field(default_factory=lambda: deque(maxlen=20))


class Supervisor:
    """Programs start in the order of the calls to `start` and stop in the reverse one."""

    def __init__(self, log: Log, *, ledger: Ledger | None = None) -> None:
        self.log = log
        self.ledger = ledger
        self.asked_to_stop = asyncio.Event()
        self._children: dict[str, _Child] = {}

    def stop_on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.asked_to_stop.set)

    async def first_of(self, work: asyncio.Task[Any]) -> None:
        """Returns when `work` is done (and raises what it raised) or when somebody asked to stop."""
        asked = asyncio.create_task(self.asked_to_stop.wait())
        await asyncio.wait([work, asked], return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if work.done():
            work.result()

    async def start(self, program: Program) -> None:
        """Returns when the program is ready. Raises StartFailed, and stops it, when it is not in its time."""
        child = self._children[program.name] = _Child(program)
        child.keeper = asyncio.create_task(self._keep(child), name=f"keep {program.name}")
        waits = [asyncio.create_task(event.wait()) for event in (child.ready, child.gave_up)]
        try:
            await asyncio.wait(waits, timeout=program.ready_timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not child.ready.is_set():
            why = f"died {child.deaths} times at its start" if child.gave_up.is_set() else "did not get ready in time"
            await self.stop(program.name)
            raise StartFailed(program.name, why, tuple(child.last_words))

    async def restart(self, name: str) -> None:
        """Kills the program and all that it started; its keeper starts it again, which counts as no death."""
        child = self._children[name]
        if child.process is not None and child.process.returncode is None:
            child.is_restarting = True
            let_through(child.process.pid)
            kill_group(child.process.pid)

    async def stop(self, name: str) -> None:
        """Asks the program to end, waits, and kills what is left of it."""
        child = self._children.pop(name)
        assert child.keeper is not None
        child.is_stopping = True
        process = child.process
        if process is None or process.returncode is not None:
            child.keeper.cancel()
        else:
            let_through(process.pid)
            with suppress(ProcessLookupError):
                process.send_signal(child.program.stop_signal)
        done, _ = await asyncio.wait([child.keeper], timeout=child.program.stop_timeout_s)
        if not done and process is not None:
            self.log.say(name, f"did not stop in {child.program.stop_timeout_s:.0f} s and is killed")
            kill_group(process.pid)
            await asyncio.wait([child.keeper], timeout=child.program.stop_timeout_s)

    def is_kept(self, name: str) -> bool:
        return name in self._children

    def pid_of(self, name: str) -> int | None:
        """Of a program that runs now; its group has the same number."""
        child = self._children.get(name)
        running = child is not None and child.process is not None and child.process.returncode is None
        return child.process.pid if running and child is not None and child.process is not None else None

    def started_s_ago(self, name: str) -> float:
        """Since its last start, whether or not it has died meanwhile."""
        return time.monotonic() - self._children[name].began_s

    async def stop_all(self) -> None:
        for name in reversed(list(self._children)):
            await self.stop(name)

    async def run_once(self, program: Program) -> tuple[int, tuple[str, ...]]:
        """Runs a program to its end; its exit status and last lines. Stopped with the supervisor. Raises what hindered
        its start."""
        child = self._children[program.name] = _Child(program)
        # Not in the caller's own task, which may be cancelled: whoever stops everything finds what is being started.
        keeper = child.keeper = asyncio.create_task(self._run(child), name=f"run {program.name}")
        await asyncio.wait([keeper])
        self._children.pop(program.name, None)
        return keeper.result(), tuple(child.last_words)

    async def _run(self, child: _Child) -> int:
        process = await self._spawn(child)
        await self._wait(child, process)
        return process.returncode or 0

    async def _keep(self, child: _Child) -> None:
        """The life of one program: start, wait for its end, start again after a pause that grows."""
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            how = await self._live(child)
            if child.is_stopping:
                return
            if child.is_restarting:
                child.is_restarting = False
                await self._after_death(child)
                continue
            is_steady = child.ready.is_set() and clock() - began > STEADY_S
            child.deaths = 1 if is_steady else child.deaths + 1
            if not child.ready.is_set() and child.deaths >= MAX_DEATHS_AT_START:
                child.gave_up.set()
                return
            delay_s = delay_after(child.deaths)
            self.log.say(child.program.name, death_notice(how, child.deaths, delay_s))
            await self._after_death(child)
            await asyncio.sleep(delay_s)

    async def _live(self, child: _Child) -> str:
        """From its start to its end, which is told in words. What cannot be started, because the machine has no memory
        or no number left for it, has died too: it is tried again."""
        try:
            process = await self._spawn(child)
        except Exception as error:  # noqa: BLE001 - whatever hinders it, nobody else would start it again
            how = f"could not be started: {_in_words(error)}"
            child.last_words.append(how)
            return how
        asking = asyncio.create_task(self._ask_if_ready(child))
        await self._wait(child, process)
        asking.cancel()
        return end_in_words(process.returncode)

    async def _after_death(self, child: _Child) -> None:
        if child.program.after_death is None:
            return
        try:
            await child.program.after_death()
        except Exception as error:  # noqa: BLE001 - it starts again all the same
            self.log.say(child.program.name, f"what follows its end failed: {_in_words(error)}")

    async def _spawn(self, child: _Child) -> asyncio.subprocess.Process:
        program = child.program
        if program.before_start is not None:
            await asyncio.to_thread(program.before_start)
        # A pipe of our own: asyncio would not tell of the end of a program whose pipe somebody else still holds.
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *command_of(program.command, death_signal=program.stop_signal, user=program.user),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=asyncio.subprocess.STDOUT,
                env=dict(program.env),
                cwd=program.cwd,
                # A group of its own: Ctrl-C reaches the supervisor alone, and what is left of the group can be killed.
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        child.process, child.output, child.began_s = process, reading, time.monotonic()
        if self.ledger is not None:
            self.ledger.add(program.name, process.pid, program.stop_signal)
        return process

    async def _wait(self, child: _Child, process: asyncio.subprocess.Process) -> None:
        pump = asyncio.create_task(self._pump(child))
        await process.wait()
        kill_group(process.pid)
        if self.ledger is not None:
            self.ledger.remove(process.pid)
        # Its last lines; somebody who inherited the pipe and left the group may hold it open for ever.
        await asyncio.wait([pump], timeout=1.0)
        pump.cancel()

    async def _pump(self, child: _Child) -> None:
        """Carries what the process writes into the log, until all who hold the other end are gone."""
        name = "" if child.program.has_prefix else child.program.name
        lines = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(child.output, "rb", buffering=0)
        )
        try:
            while line := await _line_of(lines):
                text = line.decode(errors="replace").rstrip()
                child.last_words.append(text)
                self.log.line(name, text)
        finally:
            transport.close()

    async def _ask_if_ready(self, child: _Child) -> None:
        pause_s, told = 0.05, ""
        while fault := await _not_ready(child.program):
            if fault not in (told, UNREADY):
                told = fault
                self.log.say(child.program.name, told)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.3, 1.0)
        if child.ready.is_set():
            self.log.say(child.program.name, "runs again")
        child.ready.set()


async def _not_ready(program: Program) -> str:
    """Why it is not ready, in words; empty if it is."""
    try:
        is_ready = program.is_ready is None or await asyncio.to_thread(program.is_ready)
    except Exception as error:  # noqa: BLE001 - who cannot be asked now is asked again
        return f"cannot be asked whether it is ready: {_in_words(error)}"
    return "" if is_ready else UNREADY


def _in_words(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _line_of(lines: asyncio.StreamReader) -> bytes:
    """The next line, or a word in its place where it is too long; empty at the end."""
    try:
        return await lines.readline()
    except ValueError:
        return b"(a line of more than 1 MiB is left out)\n"


def delay_after(deaths: int) -> float:
    """Seconds before a program that died `deaths` times in a row is started again."""
    # A night of deaths makes more than a number of the machine holds.
    doublings = min(2 * (deaths - 1), MAX_DOUBLINGS)
    return min(FIRST_DELAY_S * 2.0**doublings, MAX_DELAY_S)


def end_in_words(returncode: int | None) -> str:
    if returncode and returncode < 0:
        return f"was killed by {signal.Signals(-returncode).name}"
    return f"ended ({returncode})"


def death_notice(how: str, deaths: int, delay_s: float) -> str:
    again = f"{how}; it starts again in {delay_s:.1f} s"
    if deaths < WORRY_AFTER_DEATHS:
        return again
    return f"{again}. It died {deaths} times in a row: the reason is in its lines above, or `manage.py doctor` knows it"
