"""Waits of one process that end together, none of them late."""

import time

from hyperagent.lib import beats


def test_waits_that_begin_at_other_moments_end_on_the_same_beats() -> None:
    ends_s = []
    for seconds in (2.0, 2.3, 3.0, 4.7, 60.2):
        now_s = time.monotonic()
        wait_s = beats.until_beat_s(seconds)
        ends_s.append(now_s + wait_s)
        assert seconds - beats.BEAT_S < wait_s <= seconds

    apart_s = [(end_s - ends_s[0] + beats.BEAT_S / 2) % beats.BEAT_S - beats.BEAT_S / 2 for end_s in ends_s]
    assert max(map(abs, apart_s)) < 0.1


def test_a_wait_in_which_no_beat_comes_is_as_long_as_it_was_asked_for() -> None:
    for number in range(100):
        seconds = number / 100_000
        assert 0 <= beats.until_beat_s(seconds) <= seconds
