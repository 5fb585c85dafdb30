"""What a process has loaded is left alone by the garbage collector; what comes later is not."""

import gc
import weakref

import pytest

from hyperagent.lib import heap

pytestmark = pytest.mark.slow


class Ring:
    """Refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_what_comes_after_a_process_has_settled_is_still_collected() -> None:
    before = gc.get_freeze_count()
    try:
        heap.settle()
        settled = gc.get_freeze_count()
        gone = weakref.ref(Ring())
        gc.collect()

        assert settled > before
        assert gone() is None
    finally:
        gc.unfreeze()


def test_what_is_garbage_by_then_is_freed_before() -> None:
    gone = weakref.ref(Ring())
    try:
        heap.settle()

        assert gone() is None
    finally:
        gc.unfreeze()
