"""Work that nobody watches lets that go first for which people wait. Standard library only."""

import os
from contextlib import suppress
from pathlib import Path

_WEIGHED = Path("/proc/self/autogroup")


def yield_to_others(nice: int) -> None:
    """Where the kernel weighs sessions against each other first, whatever is nice within them: this one's weight. A
    supervisor gives each process a session of its own; one that somebody started in theirs leaves it as it is."""
    if os.getsid(0) != os.getpid():
        return
    try:
        _WEIGHED.write_text(str(nice))
    except OSError:
        # Another system, or a kernel that weighs no sessions: what is nice within them counts.
        return


def let_through(pid: int) -> None:
    """Whoever leads a session of its own and is to end has the weight of all others again: also a process that is
    killed needs some CPU for its end, and one that lets everybody go first waited for that for many seconds."""
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("0")
