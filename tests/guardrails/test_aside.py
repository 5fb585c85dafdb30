"""Long texts are looked at beside the loop that drives all runs: nobody else's words wait for them."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from agents.guardrails import aside
from agents.guardrails.scanner import Place, Scanner, Subject
from tests.guardrails.test_input import asking

LONG = "a word and another one, " * (200_000 // 24)


class Watching:
    """A scanner that ends only once the loop has gone on meanwhile, where it may."""

    def __init__(self, place: Place) -> None:
        self.threads: list[str] = []
        self.gone_on = threading.Event()
        self.scanner = Scanner("watching", frozenset({place}), self.scan)

    def scan(self, text: str, subject: Subject) -> list[Any]:
        self.threads.append(threading.current_thread().name)
        if len(text) > aside.LONG_CHARS:
            assert self.gone_on.wait(20), "the loop stood still"
        return []

    async def meanwhile(self) -> None:
        while not self.threads:
            await asyncio.sleep(0)
        self.gone_on.set()


async def test_the_loop_goes_on_while_a_long_question_is_looked_at() -> None:
    watching = Watching(Place.INPUT)

    done, _ = await asyncio.gather(asking(LONG, scanner=watching.scanner).drive(), watching.meanwhile())

    assert done.how == "completed"
    assert [name.startswith("scanning") for name in watching.threads] == [True]


async def test_a_short_question_is_looked_at_at_once() -> None:
    watching = Watching(Place.INPUT)

    await asking("Which train?", scanner=watching.scanner).drive()

    assert watching.threads == [threading.main_thread().name]


async def test_long_texts_are_looked_at_one_after_the_other() -> None:
    running, most = 0, 0

    def looking(clock: Callable[[], float]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        clock()
        running -= 1

    await asyncio.gather(*(aside.look(looking, chars=aside.LONG_CHARS + 1) for _ in range(20)))

    assert most == 1


async def test_what_a_scan_waits_for_others_is_not_taken_from_its_time() -> None:
    def looking(clock: Callable[[], float]) -> float:
        began = clock()
        threading.Event().wait(0.2)
        return clock() - began

    assert await aside.look(looking, chars=aside.LONG_CHARS + 1) < 0.1
    assert await aside.look(looking, chars=1) >= 0.2
