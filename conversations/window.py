"""How much a socket is sent before its client speaks again, and how much a client may say. Pure: no socket, no clock.

The server buffers without bound for a client that does not read, so nothing is sent that nobody asked for: a client
that acknowledges has WINDOW_EVENTS under way, one that never does gets SILENT_BYTES after its last word.
"""

from dataclasses import dataclass, field

from agents.log.following import Recent

WINDOW_EVENTS = 200
SILENT_BYTES = 2_000_000
# About this many messages a second from one client, with room for bursts; acknowledgements count.
MESSAGES_PER_S = 100.0
BURST = 400.0


@dataclass(slots=True)
class Feed:
    """One run as one socket has it. `known`: the highest number that the log is known to have."""

    sent: int
    acked: int
    known: int
    is_over: bool = False
    recent: Recent = field(default_factory=Recent)

    @property
    def is_behind(self) -> bool:
        return self.sent < self.known

    def lost(self, first: int, epoch: int, bodies: list[str]) -> bool:
        """Whether the log has lost what was sent: a later driver gives the same numbers to other events."""
        return self.recent.lost(self.sent, first, epoch, bodies)

    def fresh(self, first: int, last: int, bodies: list[str]) -> list[str] | None:
        """What of an announcement comes next; None if something before it is missing. Does not count it as sent."""
        self.known = max(self.known, last)
        if self.recent.is_in_doubt or first > self.sent + 1 or last - first + 1 != len(bodies):
            return None
        return bodies[self.sent + 1 - first :]


@dataclass(slots=True)
class Window:
    """What is under way to one client."""

    feeds: dict[str, Feed] = field(default_factory=dict)
    acknowledges: bool = False
    bytes_since_heard: int = 0

    def heard(self) -> None:
        self.bytes_since_heard = 0

    def acked(self, execution_id: str, seq: int) -> None:
        self.acknowledges = True
        feed = self.feeds.get(execution_id)
        if feed is not None:
            feed.acked = max(feed.acked, min(seq, feed.sent))

    def sent(self, feed: Feed, body: str) -> None:
        feed.sent += 1
        feed.recent.got(body)
        feed.known = max(feed.known, feed.sent)
        # Close enough: JSON of mostly Latin text; what is not ASCII has two to four bytes.
        self.bytes_since_heard += len(body)

    def room(self) -> int:
        """How many events may be sent now. 0: wait for the client."""
        if self.bytes_since_heard > SILENT_BYTES:
            return 0
        if not self.acknowledges:
            return WINDOW_EVENTS
        return max(0, WINDOW_EVENTS - sum(feed.sent - feed.acked for feed in self.feeds.values()))

    def next_behind(self) -> tuple[str, Feed] | None:
        return next(((execution_id, feed) for execution_id, feed in self.feeds.items() if feed.is_behind), None)


@dataclass(slots=True)
class Allowance:
    """A bucket that fills with time. Times are seconds of any steady clock."""

    left: float = BURST
    at_s: float = 0.0

    def take(self, now_s: float) -> bool:
        self.left = min(BURST, self.left + (now_s - self.at_s) * MESSAGES_PER_S)
        self.at_s = now_s
        if self.left < 1:
            return False
        self.left -= 1
        return True
