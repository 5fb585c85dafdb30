"""How long a question waits: when people are reminded of it and when its time is over. Pure; by whose clock, the
store knows.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from hitl.kinds import RequestKind

LONG: Final = timedelta(hours=6)
LAST: Final = timedelta(hours=1)
LAST_PART: Final = 0.1
"""What still waits near its end is reminded of once more: LAST before it, or in the LAST_PART of its time if it is not
open for longer than LONG."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. `expires_s` of None: nothing ends by itself. With `interactive`, a question ends when it would be
    reminded of otherwise.
    """

    expires_s: float | None = None
    interactive: bool = False
    approval_s: float = 120
    decision_s: float = 300
    input_s: float = 300

    def remind_s(self, kind: str) -> float | None:
        """After how long people are reminded first; None: never."""
        soon, end = self._soon_s(kind), self.timeout_s(kind)
        if not self.interactive and (end is None or soon < end):
            return soon
        return end - LAST.total_seconds() if end is not None and end > LONG.total_seconds() else None

    def timeout_s(self, kind: str) -> float | None:
        """After how long nobody's answer counts any more."""
        return self._soon_s(kind) if self.interactive else self.expires_s

    def _soon_s(self, kind: str) -> float:
        if kind == RequestKind.APPROVAL:
            return self.approval_s
        return self.input_s if kind == RequestKind.INPUT else self.decision_s
