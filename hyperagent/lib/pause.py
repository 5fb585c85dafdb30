"""Doing without something for a while after it was waited for in vain. Knows not what."""

import threading
import time


class Pause:
    """For all threads of a process. `length_s`: how long nobody tries again."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._lock = threading.Lock()
        self._until = 0.0

    def lasts(self) -> bool:
        with self._lock:
            return time.monotonic() < self._until

    def may_try(self) -> bool:
        """False while it lasts. Who comes first after it finds out for all; for the others it goes on meanwhile."""
        with self._lock:
            now = time.monotonic()
            if now < self._until:
                return False
            if self._until:
                self._until = now + self._length_s
            return True

    def begin(self) -> None:
        with self._lock:
            self._until = time.monotonic() + self._length_s

    def end(self) -> None:
        with self._lock:
            self._until = 0.0
