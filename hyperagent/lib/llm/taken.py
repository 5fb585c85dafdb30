"""What a call of a model has taken, for whoever has to count it wherever the call ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hyperagent.lib.llm.types import ModelReply


class Taken(list[ModelReply]):
    """The attempts that are over and were paid for, each added when it ended."""

    def __init__(self) -> None:
        super().__init__()
        self._if_it_broke_off: Callable[[], ModelReply | None] = lambda: None

    @property
    def until_now(self) -> list[ModelReply]:
        """With what would be added if the call broke off at this moment."""
        broken = self._if_it_broke_off()
        return list(self) if broken is None else [*self, broken]

    @contextmanager
    def attempt(self, if_it_broke_off: Callable[[], ModelReply | None]) -> Iterator[None]:
        """Around an attempt on its way, by whoever makes it. What it gives is estimated anew each time."""
        self._if_it_broke_off = if_it_broke_off
        try:
            yield
        finally:
            self._if_it_broke_off = lambda: None
