"""How often who may be connected to mail servers at once: a person's slow server holds up that person alone."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from weakref import WeakValueDictionary

# Mail servers let an account in a few times at once: a process takes no more than this of each.
OF_EACH: Final = 4
OF_ALL: Final = 16


class Lanes:
    """Of one process. `sending` and `reading` are threads; a lane is held for a whole mail, so that one that is begun
    does not wait behind others before its last line.
    """

    def __init__(self, *, of_all: int = OF_ALL) -> None:
        self.sending = ThreadPoolExecutor(of_all, thread_name_prefix="smtp")
        self.reading = ThreadPoolExecutor(of_all, thread_name_prefix="imap")
        self.all_sending = asyncio.Semaphore(of_all)
        self._own: WeakValueDictionary[str, Lane] = WeakValueDictionary()

    def of(self, whose: str) -> "Lane":
        lane = self._own.get(whose)
        if lane is None:
            lane = self._own[whose] = Lane(self)
        return lane


class Lane:
    """One owner's share."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.sending = asyncio.Semaphore(OF_EACH)
        self.reading = asyncio.Semaphore(OF_EACH)
