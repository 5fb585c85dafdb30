"""What becomes of something that was found, next to what is known. Pure: no table, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.kinds import MemoryStatus
from memory.remembering.orders import reads_like_an_order
from memory.remembering.profile import SEVERAL
from memory.remembering.sameness import same_sentence, same_value
from memory.remembering.values import Finding, Known

TEXT_CHARS: Final = 500
VALUE_CHARS: Final = 120
EXCERPT_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Already:
    """It is known."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Added:
    """It becomes a memory. `supersedes`: what is no longer true then. `reason`: why it is quarantined. `replaces`: what
    it is said to replace, if it is quarantined and its owner accepts it."""

    status: MemoryStatus
    reason: str = ""
    supersedes: tuple[UUID, ...] = ()
    replaces: UUID | None = None


def decide(finding: Finding, known: Sequence[Known]) -> Already | Added:
    """`known`: what is active or quarantined of this person, newest first."""
    same = next((memory for memory in known if _says_the_same(finding, memory)), None)
    if same is not None:
        return Already(same.id)
    contradicted = [memory for memory in known if _contradicts(finding, memory)]
    replaces = next((memory.id for memory in contradicted if memory.id == finding.replaces), None)
    order = reads_like_an_order(finding.text)
    if order:
        return Added(MemoryStatus.QUARANTINED, order, replaces=replaces)
    held = next((memory for memory in contradicted if memory.is_pinned or memory.is_corrected), None)
    if held is not None:
        # Without the other's text: it would outlive it.
        how = "pinned" if held.is_pinned else "wrote yourself"
        return Added(MemoryStatus.QUARANTINED, f"It contradicts what you {how}.", replaces=replaces)
    return Added(MemoryStatus.ACTIVE, supersedes=tuple(memory.id for memory in contradicted))


def _says_the_same(finding: Finding, memory: Known) -> bool:
    if finding.field != memory.field:
        return False
    if finding.field is not None:
        return same_value(finding.text, memory.text)
    return same_sentence(finding.text, memory.text, memory.closeness)


def _contradicts(finding: Finding, memory: Known) -> bool:
    if memory.status is not MemoryStatus.ACTIVE:
        return False
    if finding.replaces == memory.id:
        return True
    return finding.field is not None and finding.field not in SEVERAL and finding.field == memory.field
