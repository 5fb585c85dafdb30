"""How many sockets each person has open in this process. What they may have is asked elsewhere."""

from collections import Counter
from uuid import UUID


class OpenSockets:
    """Used by one event loop only."""

    def __init__(self) -> None:
        self._open: Counter[UUID] = Counter()

    def enter(self, user_id: UUID, *, most: int) -> bool:
        """Counts one more, or says False where there are so many already. `most` 0: no limit."""
        if most and self._open[user_id] >= most:
            return False
        self._open[user_id] += 1
        return True

    def leave(self, user_id: UUID) -> None:
        self._open[user_id] -= 1
        if self._open[user_id] <= 0:
            del self._open[user_id]

    @property
    def total(self) -> int:
        return self._open.total()


open_sockets = OpenSockets()
