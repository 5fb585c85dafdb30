"""The lanes in which background jobs wait. Knows no queue, so that whoever only reads about jobs need not load one."""

from enum import StrEnum


class Lane(StrEnum):
    """The key of a job's row. Jobs of a lane are taken in their order: those of the first before all others, which take
    turns. A cluster of the version before takes from the first alone, where it also puts all of its own."""

    SOON = "hyperagent"
    """What somebody waits for, and what goes by the clock: over in moments."""
    LONG = "hyperagent-long"
    """May work for minutes, and may wait for as long."""
    MANY = "hyperagent-many"
    """Of which thousands may come at once."""
