"""Waiting for a machine that others use as well to be quiet, so that a figure is of what it says. Measures nothing."""

import asyncio
import time

from benchmarks import processes

LOOK_S = 0.5
LOOKS = 2
# Of a core, for everything on the machine, ourselves idle among it.
QUIET = 0.35


async def wait_for_quiet(patience_s: float) -> bool:
    """Returns as soon as the machine did next to nothing for a second; false if that did not happen in time."""
    deadline = time.monotonic() + patience_s
    quiet = 0
    while quiet < LOOKS:
        if time.monotonic() > deadline:
            return False
        before_s = processes.machine_busy_s()
        await asyncio.sleep(LOOK_S)
        quiet = quiet + 1 if (processes.machine_busy_s() - before_s) / LOOK_S < QUIET else 0
    return True
