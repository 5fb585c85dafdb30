"""A bell that is rung ends every wait for it, here and in processes that were forked, and stays rung."""

import os
import signal
import threading

from hyperagent.lib.bell import Bell

LONG_S = 60.0


def test_one_that_nobody_rang_is_waited_for_until_the_time_is_up() -> None:
    assert not Bell().is_rung()
    assert not Bell().is_rung(within_s=0.05)


def test_it_rings_for_ever_however_often_it_is_rung() -> None:
    bell = Bell()
    for _ in range(100_000):
        bell.ring()

    assert bell.is_rung()
    assert bell.is_rung(within_s=LONG_S)


def test_who_waits_hears_it_at_once() -> None:
    bell = Bell()
    ringing = threading.Timer(0.2, bell.ring)
    ringing.start()

    assert bell.is_rung(within_s=LONG_S)
    ringing.join()


def test_it_may_be_rung_by_the_signal_that_comes_while_it_is_waited_for() -> None:
    bell = Bell()
    before = signal.signal(signal.SIGUSR1, lambda *_: bell.ring())
    asking = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        asking.start()

        assert bell.is_rung(within_s=LONG_S)
    finally:
        asking.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_process_that_was_forked_hears_it() -> None:
    bell = Bell()
    child = os.fork()
    if child == 0:
        os._exit(0 if bell.is_rung(within_s=LONG_S) else 1)
    bell.ring()

    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
