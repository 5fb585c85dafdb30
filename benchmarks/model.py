"""What the stand's model is told to answer, and what it saw: the scripted server's routes, from outside."""

from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from tests.scripted.script import Script


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of the model, by the machine's monotonic clock. `ended_ns`: 0 while it goes on."""

    last_user: str
    came_ns: int
    ended_ns: int
    finished: bool

    @property
    def took_ms(self) -> float:
        return (self.ended_ns - self.came_ns) / 1e6


class Model:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def begin(self, lines: Sequence[Script]) -> None:
        """Forgets what was before. Calls without a line are answered from their own words."""
        await self._post("/_reset")
        await self._post("/_script", [line.model_dump(mode="json") for line in lines])

    async def release(self) -> None:
        """What is held goes on."""
        await self._post("/_release")

    async def asked(self) -> list[Asked]:
        """All calls since the beginning, in the order in which they came."""
        async with self._session.get(f"{self._url}/_times") as response:
            return [Asked(**call) for call in await response.json()]

    async def _post(self, path: str, body: object = None) -> None:
        async with self._session.post(f"{self._url}{path}", json=body) as response:
            response.raise_for_status()


def critical_path(calls: Sequence[Asked]) -> list[Asked]:
    """The calls that an answer waited for one after the other: before each, the last that had ended when it came."""
    path: list[Asked] = []
    before = [call for call in calls if call.finished]
    while before:
        last = max(before, key=lambda call: call.ended_ns)
        path.append(last)
        before = [call for call in before if call.ended_ns <= last.came_ns]
    return path[::-1]
