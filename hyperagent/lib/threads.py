"""Running synchronous database code from coroutines of the web process: a few threads for all of it, none held while
waiting.

`sync_to_async` as it is gives all sockets of a process one thread, and each HTTP request one of its own until it ends.
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar, cast

from channels.db import DatabaseSyncToAsync

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 8
pool = ThreadPoolExecutor(THREADS, thread_name_prefix="database")
# Writes that somebody watches: many at once share the interpreter's lock and all end last. Few at a time, and each but
# the last ends sooner (8 questions at once: 69 ms to the first word with eight threads, 51 with two).
WRITING_THREADS = 2
writing_pool = ThreadPoolExecutor(WRITING_THREADS, thread_name_prefix="writing")


def in_thread(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The function as a coroutine function. Its database connection is given back as soon as it returns."""
    return cast(Callable[P, Awaitable[R]], DatabaseSyncToAsync(function, thread_sensitive=False, executor=pool))


def in_writing_thread(function: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """The same for what people wait to see begin; few run at a time, in the order in which they came."""
    return cast(Callable[P, Awaitable[R]], DatabaseSyncToAsync(function, thread_sensitive=False, executor=writing_pool))
