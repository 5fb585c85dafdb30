"""When a failed call is made again, as a table."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperagent.lib.llm import retry
from hyperagent.lib.llm.errors import Reason, model_error
from hyperagent.lib.llm.providers import Limits

LIMITS = Limits(attempts=3, retry_budget_s=60)
AGAIN = {
    Reason.RATE_LIMITED,
    Reason.SERVER_ERROR,
    Reason.NO_FIRST_TOKEN,
    Reason.SILENCE,
    Reason.STREAM_CUT,
    Reason.NOT_CONNECTED,
    Reason.EMPTY_ANSWER,
    Reason.MALFORMED,
}


def _after(reason: Reason, attempt: int = 1, *, spent_s: float = 0, retry_after_s: float | None = None) -> object:
    error = model_error(reason, provider="p", model="m", retry_after_s=retry_after_s)
    return retry.after(error, attempt=attempt, spent_s=spent_s, limits=LIMITS, chance=1.0)


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.NOT_CONFIGURED])
def test_only_what_may_pass_is_tried_again(reason: Reason) -> None:
    assert isinstance(_after(reason), retry.Again) == (reason in AGAIN)


def test_attempts_are_bounded() -> None:
    assert isinstance(_after(Reason.RATE_LIMITED, 2), retry.Again)
    assert _after(Reason.RATE_LIMITED, 3) is retry.Elsewhere.NEXT
    assert _after(Reason.EMPTY_ANSWER, 2) is retry.Elsewhere.NEXT


def test_the_wait_grows() -> None:
    assert _after(Reason.RATE_LIMITED, 1) == retry.Again(0.5)
    assert _after(Reason.RATE_LIMITED, 2) == retry.Again(1.0)


def test_retry_after_is_obeyed() -> None:
    assert _after(Reason.RATE_LIMITED, retry_after_s=7) == retry.Again(7.5)
    assert _after(Reason.RATE_LIMITED, retry_after_s=600) is retry.Elsewhere.NEXT


def test_no_attempt_begins_after_the_budget() -> None:
    assert _after(Reason.RATE_LIMITED, spent_s=59.9) is retry.Elsewhere.NEXT


@given(
    attempt=st.integers(min_value=1, max_value=2),
    chance=st.floats(min_value=0, max_value=1),
    asked=st.floats(min_value=0, max_value=15),
)
def test_the_wait_is_never_shorter_than_the_provider_asked_for(attempt: int, chance: float, asked: float) -> None:
    error = model_error(Reason.RATE_LIMITED, provider="p", model="m", retry_after_s=asked)

    step = retry.after(error, attempt=attempt, spent_s=0, limits=LIMITS, chance=chance)

    assert isinstance(step, retry.Again)
    assert asked <= step.wait_s <= asked + 0.5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("604800", 604_800.0),
        (None, None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 +99999999999999999999", None),
    ],
)
def test_a_retry_after_header_is_read_or_ignored(header: str | None, seconds: float | None) -> None:
    assert retry.retry_after_s(header) == seconds


def test_a_retry_after_header_may_hold_a_date() -> None:
    """How far off it is changes while it is read."""
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)

    seconds = retry.retry_after_s(format_datetime(in_an_hour, usegmt=True))

    assert seconds is not None
    assert _after(Reason.RATE_LIMITED, retry_after_s=seconds) is retry.Elsewhere.NEXT
