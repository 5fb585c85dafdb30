"""What a process has loaded once it is ready stays until its end: the garbage collector need not walk through it."""

import ctypes
import gc
import sys
from typing import Final

# Of glibc's mallopt(3).
_M_ARENA_MAX: Final = -8


def settle() -> None:
    """Called when everything is loaded and nothing has been served; again after what is loaded late and stays.

    Modules and models are half a million objects. Each collection of the oldest generation looked at all of them, and
    nothing else ran for 170 ms meanwhile; what is frozen is not looked at. Collected twice: the oldest generation is
    looked at when a quarter was added to what was left of it the last time, and that is to be nothing.
    """
    gc.collect()
    gc.freeze()
    gc.collect()
    _share_arenas()


def _share_arenas() -> None:
    """Each thread would have a pool of memory of its own, which keeps what its busiest moment took. Ours take turns for
    the interpreter anyhow, so that they hardly ever wait for each other here."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_M_ARENA_MAX, 1)
        libc.malloc_trim(0)
