"""What can end or interrupt a step, named by what its caller does about it.

Errors of the outside (`OutsideError`) are recorded and come back on replay as `StepFailed`. Signals (`Signal`) steer
the driver; they are no errors, are never recorded, and derive from BaseException so that a program's
`except Exception` lets them through.
"""

from typing import Any


class OutsideError(Exception):
    """Something outside said no for good. `retryable`: a person may try the whole again later.

    `may_have_happened` is for effects: true where the call may have changed the world all the same. `usage` is for
    steps: what was used all the same, as in an `Outcome`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        may_have_happened: bool = False,
        usage: Any = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.may_have_happened = may_have_happened
        self.usage = usage


class StepFailed(Exception):
    """A recorded failure, the same on the first run and on every replay."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable

    def as_json(self) -> dict[str, str | bool]:
        """What is recorded; `StepFailed(**recorded)` is the same failure again."""
        return {"code": self.code, "message": self.message, "retryable": self.retryable}

    @staticmethod
    def is_in(recorded: object) -> bool:
        return isinstance(recorded, dict) and recorded.keys() == {"code", "message", "retryable"}


class Skipped(Exception):
    """An agent says that its task is not done at all, and why, in words for people. No failure, and no result."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Signal(BaseException):
    """Steers the driver out of a program; what was recorded stays."""


class Suspended(Signal):
    """Everything that could run waits for people."""


class LeaseLost(Signal):
    """Another driver has a newer epoch: write nothing more."""


class GivenBack(Signal):
    """The process is stopping: the run goes back and another goes on."""


class Cancelled(Signal):
    """A person cancelled the run."""


class Stopped(Signal):
    """This agent was deleted or begins anew, or its time was up: what still runs of it writes nothing more."""
