"""Starting programs in the box, each under a shepherd of its own, and ending all that came of one.

A shepherd is a fork of the keeper that adopts the orphans of its program, so that what a program starts stays below it
in the tree however it hides: double forks, sessions of its own. Should a program kill its shepherd, what is left falls
to the first process, which knows that it started none of it: strays.
"""

from __future__ import annotations

import os
import resource
import time

from . import processes, walls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final, NoReturn

CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
FIRST: Final = 1
SIGKILL, SIGSTOP = 9, 19
_STATUS_BYTES: Final = 16
# The keeper, and what else the machine has to do, come first.
_NICER: Final = 10
_PASSES: Final = 50


class Wanted:
    """`limits`: by number of the resource, as for setrlimit."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, *, wall_s: float | None, limits: Mapping[int, int]
    ) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.wall_s = wall_s
        self.limits = limits


class Program:
    """`report`: here the shepherd writes how the program ended; it is at its end when the shepherd is gone.
    `ending`: why everything of it is being ended. `reaped`: its shepherd is."""

    def __init__(self, number: int, shepherd: int, report: int, *, wall_s: float | None) -> None:
        self.number = number
        self.shepherd = shepherd
        self.report = report
        self.began = time.monotonic()
        self.until = None if wall_s is None else self.began + wall_s
        self.status: int | None = None
        self.ending = ""
        self.ending_since = 0.0
        self.reaped = False

    def end(self, why: str) -> None:
        """The first reason is the one that is told."""
        if not self.ending:
            self.ending, self.ending_since = why, time.monotonic()


def start(number: int, wanted: Wanted) -> tuple[Program, list[int]]:
    """The program, and the ends of its output and error pipes that are read. Raises OSError, having left nothing."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    report_read, report_write = os.pipe()
    try:
        shepherd = os.fork()
        if shepherd == 0:
            _be_shepherd(wanted, out=out_write, err=err_write, report=report_write)
    except OSError:
        for fd in (out_read, err_read, report_read):
            os.close(fd)
        raise
    finally:
        for fd in (out_write, err_write, report_write):
            os.close(fd)
    os.set_blocking(report_read, False)
    return Program(number, shepherd, report_read, wall_s=wanted.wall_s), [out_read, err_read]


def hear(program: Program) -> None:
    """How the program ended, where its shepherd has told; without a status if the shepherd was killed."""
    try:
        text = os.read(program.report, _STATUS_BYTES)
    except BlockingIOError:
        return
    if text:
        program.status = int(text)
    program.end("exited")


def sweep(program: Program) -> bool:
    """One try at ending all that came of it, others left alone. True once nothing of it lives."""
    if end_tree(program.shepherd):
        return False
    kill(program.shepherd, SIGKILL)
    return program.reaped


def sweep_everything() -> bool:
    """One try at ending all there is, at one stroke that nothing can outrun. True once nothing is left of it."""
    kill(-1, SIGKILL)
    return not processes.anything_left()


def end_strays(known: set[int]) -> bool:
    """Ends what the first process has adopted. True if there was anything."""
    parents = processes.living()
    found = [pid for pid, parent in parents.items() if parent == FIRST and pid not in known]
    for pid in found:
        end_tree(pid)
        kill(pid, SIGKILL)
    return bool(found)


def end_tree(root: int) -> bool:
    """Ends all below `root`, not itself. Stopped first, until a look finds none that still runs: what forks as fast as
    it is killed would get away. True if there was anything."""
    stopped: set[int] = set()
    for _ in range(_PASSES):
        running = processes.below(root, processes.living()) - stopped
        if not running:
            break
        for pid in running:
            kill(pid, SIGSTOP)
        stopped |= running
    for pid in stopped:
        kill(pid, SIGKILL)
    return bool(stopped)


def kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _be_shepherd(wanted: Wanted, *, out: int, err: int, report: int) -> NoReturn:
    """Starts the program, buries what dies, tells how the program ended, and goes when nothing is left. It ignores
    signals as the keeper does: a program may well signal its parent."""
    try:
        walls.adopt_orphans()
        program = os.fork()
        if program == 0:
            _become(wanted, out=out, err=err)
        os.closerange(0, report)
        os.closerange(report + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == program:
                os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
    finally:  # nothing is left to wait for, or no process was to be had: the keeper's own loop must never run twice
        os._exit(0)


def _become(wanted: Wanted, *, out: int, err: int) -> NoReturn:
    """Only these three files, default signals, a session of its own, limits; then the program."""
    try:
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.setsid()
        walls.default_signals()
        os.umask(0o022)
        os.nice(_NICER)
        os.makedirs(wanted.cwd, exist_ok=True)
        os.chdir(wanted.cwd)
        for number, most in wanted.limits.items():
            resource.setrlimit(number, (most, most))
        os.execvpe(wanted.argv[0], list(wanted.argv), dict(wanted.env))  # noqa: S606 - that is what it is for
    except FileNotFoundError:
        os.write(2, f"{wanted.argv[0]}: there is no such program in the sandbox\n".encode("utf-8", "replace"))
        os._exit(NOT_FOUND)
    except (OSError, ValueError) as fault:
        os.write(2, f"{wanted.argv[0]} in {wanted.cwd}: {fault}\n".encode("utf-8", "replace"))
    finally:
        os._exit(CANNOT_RUN)
