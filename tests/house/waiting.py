"""Waiting in tests: for a fact, with a deadline, and with words for what was waited for."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(fact: Callable[[], T], *, what: str, timeout_s: float = 60.0) -> T:
    """The first true value of `fact`; fails the test when there is none in time."""
    deadline = time.monotonic() + timeout_s
    while not (value := fact()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:.0f} s in vain for: {what}")
        time.sleep(0.05)
    return value
