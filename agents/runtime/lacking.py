"""What a run's person has none of, found with the claim: a run that has just begun does not look for it, and its first
word waits for less. Most people have no connected servers, and many no documents or memories.
"""

import time
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Final

from agents.mcp.having import has_servers
from memory.remembering.reading import has_memories
from memory.sight import may_see_any

HOLDS_S: Final = 1.0
"""After the claim. Then it is looked up: people may have come to something meanwhile."""


class Lack(StrEnum):
    SERVERS = "servers"
    MEMORIES = "memories"
    """They are remembered, and nothing is yet."""
    DOCUMENTS = "documents"
    """Nor has anybody else shown them one."""


def lacks(user: str) -> str:
    """SQL: an array of these, of the person whose id `user` is in the query."""
    has = {Lack.SERVERS: has_servers, Lack.MEMORIES: has_memories, Lack.DOCUMENTS: may_see_any}
    cases = (f"CASE WHEN NOT ({sql(user)}) THEN '{lack}' END" for lack, sql in has.items())
    return f"array_remove(ARRAY[{', '.join(cases)}], NULL)"


class Lacks:
    """What was found, for as long as it holds."""

    def __init__(self, found: Collection[str] = (), *, clock: Callable[[], float] = time.monotonic) -> None:
        self._found = found
        self._clock = clock
        self._until_s = clock() + HOLDS_S

    def __contains__(self, lack: Lack) -> bool:
        return lack in self._found and self._clock() < self._until_s
