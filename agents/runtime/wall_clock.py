"""What time it is by the database's clock. The log of a run is told by whoever drives it just then: by their own clocks
a run that changes its worker would go back in time, or stand still for minutes.
"""

import time
from typing import Any, Final

import psycopg

EVERY_S: Final = 60.0
"""How old a comparison may get: clocks that drift, or are set."""
_NOW: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8"


class WallClock:
    """This machine's, corrected; until the first comparison as it is."""

    def __init__(self) -> None:
        self._ahead_ms = 0.0
        self._compared_s: float | None = None

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        return int(time.time_ns() / 1_000_000 - self._ahead_ms)

    async def compare(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Asks the database, where the last answer is old. A difference that the way there explains is none."""
        if self._compared_s is not None and time.monotonic() - self._compared_s < EVERY_S:
            return
        asked_ms = time.time_ns() / 1_000_000
        cursor = await connection.execute(_NOW)
        row: Any = await cursor.fetchone()
        answered_ms = time.time_ns() / 1_000_000
        away_ms = (answered_ms - asked_ms) / 2
        ahead_ms = asked_ms + away_ms - row[0]
        self._ahead_ms = ahead_ms if abs(ahead_ms) > away_ms else 0.0
        self._compared_s = time.monotonic()


WALL_CLOCK: Final = WallClock()
"""Of this process: all its runs are told by it."""
