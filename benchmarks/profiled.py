"""`python -m benchmarks.profiled FILE PROGRAM…` runs a Python program and, on SIGUSR1, looks where its CPU time goes;
on SIGUSR2 it writes that to FILE, as JSON, and begins anew.

The standard library's interval timer interrupts the process after every few milliseconds of its CPU time, wherever it
is: what costs nothing is not seen, and the program goes as fast as ever. The product knows nothing of it. PROGRAM is a
file with its arguments, or `-m` and a module with its own.
"""

import json
import os
import runpy
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

# Of CPU time; the kernel's clock may be coarser, so each look counts by what was really spent since the last.
EVERY_S = 0.002
ROOT = str(Path(__file__).resolve().parent.parent)
_NOT_OURS = ("/.venv/", "/benchmarks/profiled.py")


class Sampler:
    """Counts CPU seconds by the line that is executed, with the nearest line of the project above it."""

    def __init__(self, to: Path) -> None:
        self._to = to
        self._spent: Counter[tuple[str, str]] = Counter()
        self._own_s = self._all_s = 0.0

    def install(self) -> None:
        signal.signal(signal.SIGPROF, self._look)
        # What waits for the network is not to fail with EINTR.
        signal.siginterrupt(signal.SIGPROF, False)
        signal.signal(signal.SIGUSR1, self._begin)
        signal.signal(signal.SIGUSR2, self._end)

    def _begin(self, _number: int, _frame: FrameType | None) -> None:
        self._spent.clear()
        self._own_s, self._all_s = time.thread_time(), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    def _look(self, _number: int, frame: FrameType | None) -> None:
        """Signals come to the main thread; what the process spent beyond it is that of the others."""
        own_s, all_s = time.thread_time(), time.process_time()
        main_s = own_s - self._own_s
        others_s = max(0.0, all_s - self._all_s - main_s)
        self._own_s, self._all_s = own_s, all_s
        if frame is not None:
            self._spent[_place(frame)] += main_s  # type: ignore[assignment]
        if others_s > 0:
            self._spent[self._elsewhere()] += others_s  # type: ignore[assignment]

    def _elsewhere(self) -> tuple[str, str]:
        """The line of the one other thread that is not waiting; of several nobody can tell."""
        here = threading.get_ident()
        frames = [frame for thread, frame in sys._current_frames().items() if thread != here]
        busy = [frame for frame in frames if frame.f_code.co_name not in {"wait", "_worker", "get", "select", "poll"}]
        return _place(busy[0]) if len(busy) == 1 else ("(other threads)", "")

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        spent = [{"line": line, "within": within, "cpu_s": cpu_s} for (line, within), cpu_s in self._spent.items()]
        whole = self._to.with_suffix(".part")
        whole.write_text(json.dumps(spent))
        whole.rename(self._to)


def _place(frame: FrameType) -> tuple[str, str]:
    """The line that is executed, and the nearest of the project that led there, if that is another."""
    line = _named(frame)
    above: FrameType | None = frame
    while above is not None:
        if _is_ours(above.f_code.co_filename):
            within = _named(above)
            return line, within if within != line else ""
        above = above.f_back
    return line, ""


def _named(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    for folder in (f"{ROOT}/", *(f"{one}/" for one in sys.path if one and one != ROOT)):
        path = path.removeprefix(folder)
    return f"{path}:{frame.f_lineno} {frame.f_code.co_qualname}"


def _is_ours(path: str) -> bool:
    return path.startswith(f"{ROOT}/") and not any(part in path for part in _NOT_OURS)


def main() -> None:
    to, *program = sys.argv[1:]
    Sampler(Path(to)).install()
    # As the interpreter would have it.
    sys.path[0] = os.getcwd()  # noqa: PTH109
    if program[0] == "-m":
        sys.argv = program[1:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    main()
