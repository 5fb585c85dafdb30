"""What `manage.py doctor` finds: one line, how bad it is, and the way out."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    FINE = "ok"
    WARNING = "warning"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Finding:
    state: State
    what: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.state:<8} {self.what}" + (f"\n         → {self.mend}" if self.mend else "")
