"""How a hostile program is judged: by what is left of it once the dead are buried."""

from typing import Any

import pytest

from agents.sandbox.base import BoxFile, Command, Ending, Outcome
from benchmarks import sandbox_abuse

DEAD = "   17 [python3] <defunct>\n"
ALIVE = "   18 python3 -c while True: pass\n"


class Box:
    """What `ps` shows in it, look after look."""

    alive = True

    def __init__(self, *looks: str) -> None:
        self.looks = list(looks)

    async def run(self, command: Command) -> Outcome:
        said = self.looks.pop(0) if command.argv[0] == "ps" else "clean\n"
        return Outcome(Ending.EXITED, 0, stdout=said)

    async def files(self) -> tuple[BoxFile, ...]:
        return ()

    async def pack(self, folders: Any, *, max_bytes: int) -> bytes:
        return b""


@pytest.mark.parametrize(
    ("looks", "left"), [((DEAD, ""), []), (("",), []), ((ALIVE, ALIVE), [f"left running: {[ALIVE.strip(chr(10))]}"])]
)
async def test_what_is_gone_at_the_next_look_was_not_left_running(
    looks: tuple[str, ...], left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_abuse, "BURIED_S", 0.0)
    box: Any = Box(*looks)

    assert await sandbox_abuse._left(box) == left
