"""What people and models are told of a program that runs: output in pieces while it does, and how it ended.

Whatever a program writes is text here, inert and bounded; whoever shows it decides about its control characters.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from agents.engine.events import Body, TerminalError, TerminalOutput
from agents.sandbox.base import Ending, Outcome, Stream
from hyperagent.lib.text import clean_text

SHOWN_CHARS: Final = 60_000
"""Of one program while it runs; the result has what was kept of its output."""
PIECE_CHARS: Final = 4_000
PIECE_S: Final = 0.15
NO_MORE: Final = "\n[More output is not shown while the program runs.]\n"
_NOTES: Final = {
    Ending.EXITED: "",
    Ending.TIMED_OUT: "It ran out of time and was stopped.",
    Ending.OUT_OF_MEMORY: "It needed more memory than the sandbox has, and was stopped.",
    Ending.TOO_MUCH_OUTPUT: "It wrote too much output and was stopped.",
    Ending.STOPPED: "It was stopped.",
    Ending.LOST: "The sandbox went away while it ran.",
}


def note_of(outcome: Outcome) -> str:
    """Why it was stopped before it ended; empty if it was not."""
    return clean_text(outcome.note or _NOTES[outcome.ending])


@dataclass
class Terminal:
    """Gathers what is heard of a program and shows it in pieces, a few a second. `id`: of the `terminal_command`."""

    id: str
    emit: Callable[[Body], None]
    _waiting: list[tuple[Stream, str]] = field(default_factory=list)
    _chars: int = 0
    _shown: int = 0
    _timer: asyncio.TimerHandle | None = None

    def heard(self, stream: Stream, text: str) -> None:
        if self._shown >= SHOWN_CHARS:
            return
        self._waiting.append((stream, text))
        self._chars += len(text)
        if self._chars >= PIECE_CHARS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PIECE_S, self.flush)

    def flush(self) -> None:
        """Shows what was heard last."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting, self._chars = self._waiting, [], 0
        for stream, text in _by_stream(waiting):
            for start in range(0, len(text), PIECE_CHARS):
                self._show(stream, text[start : start + PIECE_CHARS])

    def forget(self) -> None:
        """Nobody is shown anything any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._waiting = None, []

    def _show(self, stream: Stream, text: str) -> None:
        if self._shown >= SHOWN_CHARS:
            return
        self._shown += len(text)
        content = clean_text(text)
        if self._shown >= SHOWN_CHARS:
            content += NO_MORE
        event = TerminalOutput if stream == "stdout" else TerminalError
        self.emit(event(content=content, id=self.id))


def _by_stream(pieces: list[tuple[Stream, str]]) -> list[tuple[Stream, str]]:
    """Neighbours of the same stream become one."""
    found: list[tuple[Stream, str]] = []
    for stream, text in pieces:
        if found and found[-1][0] == stream:
            found[-1] = (stream, found[-1][1] + text)
        else:
            found.append((stream, text))
    return found
