"""When a failed call is made again: pure, from the error, the attempt and the time spent to what is done next."""

import time
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import Enum

from hyperagent.lib.llm.errors import ModelBusy, ModelError, ModelGarbled, ModelUnavailable, Reason
from hyperagent.lib.llm.providers import Limits

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Again:
    """The same model once more, after a wait."""

    wait_s: float


class Elsewhere(Enum):
    """The next model of the tier, or the end if there is none."""

    NEXT = "next"


def after(error: ModelError, *, attempt: int, spent_s: float, limits: Limits, chance: float) -> Again | Elsewhere:
    """What follows the `attempt`-th (from 1) call to one model, `spent_s` after the first call of all.

    `chance` from 0 to 1 spreads the waits, so that callers who failed together do not come back together. A wait that
    the provider asked for is obeyed in full; one too long to be waited for sends the call elsewhere.
    """
    if attempt >= _attempts(error, limits):
        return Elsewhere.NEXT
    wait_s = _backoff_s(attempt, chance)
    if error.retry_after_s is not None:
        wait_s = error.retry_after_s + chance * FIRST_WAIT_S
    if wait_s > LONGEST_WAIT_S + FIRST_WAIT_S or spent_s + wait_s > limits.retry_budget_s:
        return Elsewhere.NEXT
    return Again(wait_s)


def _attempts(error: ModelError, limits: Limits) -> int:
    if isinstance(error, ModelBusy) and error.reason is not Reason.NO_FREE_SLOT:
        return limits.attempts
    if isinstance(error, ModelUnavailable):
        return limits.attempts
    if isinstance(error, ModelGarbled) and error.reason in (Reason.EMPTY_ANSWER, Reason.MALFORMED):
        return min(2, limits.attempts)
    return 1


def _backoff_s(attempt: int, chance: float) -> float:
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempt - 1))
    return longest * (0.5 + chance / 2)


def retry_after_s(value: str | None) -> float | None:
    """A Retry-After header in seconds, which holds a number or a date; None where it holds neither, or a time that is
    over."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until_s(value)
    return seconds if seconds >= 0 else None


def _until_s(value: str) -> float:
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return -1
    return (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - time.time()
