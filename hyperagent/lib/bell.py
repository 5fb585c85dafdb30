"""A wait that can be ended from a signal handler, or from the process that this one was forked from."""

import os
import select


class Bell:
    """Rings once and for ever, for all who have it: threads, and processes that are forked. There is no lock in it,
    which a process that is killed would keep."""

    def __init__(self) -> None:
        self._hole, self._rope = os.pipe()

    def ring(self) -> None:
        """Safe in a signal handler. Whoever waits for it stops waiting."""
        if not self.is_rung():
            os.write(self._rope, b"\0")

    def is_rung(self, *, within_s: float = 0.0) -> bool:
        """Whether it has rung, or does before the time is up. Nobody takes the byte out."""
        poll = select.poll()
        poll.register(self._hole, select.POLLIN)
        return bool(poll.poll(within_s * 1000))

    def fileno(self) -> int:
        """Readable once it has rung."""
        return self._hole
