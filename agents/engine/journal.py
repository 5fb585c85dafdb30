"""Where a call stands in its agent's journal, and what the journal says about it. Pure."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from agents.engine.canonical import canonical
from agents.engine.records import Path, StepRecord
from agents.engine.states import StepKind, StepStatus

WITHIN = {"within": True}


def differs(recorded: StepRecord, kind: StepKind, name: str, request_hash: bytes, *, effect: bool) -> str:
    """What is different between the recorded step and the call at its path; empty if it is the same call."""
    if recorded.kind != kind:
        return f"was a {recorded.kind} step, is now a {kind} step"
    if recorded.name != name:
        return f"was {recorded.name}, is now {name}"
    if recorded.request_hash != request_hash:
        return f"{name} is called with another request than before"
    if kind is StepKind.TOOL and bool(recorded.effect_key) != effect:
        return (
            f"{name} {'did not change the world, and now does' if effect else 'changed the world, and no longer does'}"
        )
    return ""


def falls_to(cut: Path, path: Path) -> bool:
    """Whether a step at `path` no longer counts when the journal is cut at `cut`: the same scope, from there on."""
    scope = len(cut) - 1
    return len(path) > scope and path[:scope] == cut[:scope] and path[scope] >= cut[scope]


def origin_of(lineage: str, position: Path, ordinal: int) -> str:
    """Names the place of an emission: after how many calls of its scope, and which one there.

    Within a step's performer the position is the step's path with a 0 behind it.
    """
    return f"{lineage}/{'.'.join(map(str, position))}/{ordinal}"


def fallen_origins(origins: Iterable[str], lineage: str, cut: Path) -> tuple[str, ...]:
    """The emissions that come after the cut, and so may be made again."""
    fallen = []
    for origin in origins:
        place, dots, _ = origin.rsplit("/", 2)
        position = tuple(map(int, dots.split(".")))
        after = falls_to(cut, position) and (len(position) > len(cut) or position[len(cut) - 1] > cut[-1])
        if place == lineage and after:
            fallen.append(origin)
    return tuple(fallen)


def stale(recorded: Mapping[Path, StepRecord], path: Path) -> bool:
    """Whether the journal has steps below `path`, where a single step is called now (it was a fan-out before)."""
    return any(len(other) > len(path) + 1 and other[: len(path)] == path for other in recorded)


def is_below(path: Path, scope: Path) -> bool:
    """Whether a step stands in this scope, or in one inside it."""
    return len(path) > len(scope) and path[: len(scope)] == scope


def still_counting(steps: Iterable[StepRecord]) -> list[StepRecord]:
    """Without what stands in bodies that ran out of time: a replay does not come by there."""
    steps = list(steps)
    over = [(*one.path, 0) for one in steps if one.request == WITHIN and one.status is StepStatus.FAILED]
    return [one for one in steps if not any(is_below(one.path, scope) for scope in over)]


def asks_open(steps: Iterable[StepRecord]) -> list[StepRecord]:
    """The questions among these steps that nobody has answered yet."""
    return [step for step in steps if step.kind is StepKind.ASK and step.status is StepStatus.STARTED]


def origins_of(origins: Iterable[str], lineage: str) -> tuple[str, ...]:
    """Every emission that this agent has made."""
    return tuple(origin for origin in origins if origin.rsplit("/", 2)[0] == lineage)


def child_lineage(parent: str, branches: Path, name: str, ordinal: int) -> str:
    """Names a child agent by its place: below its parent, in which branches, which of its equals there."""
    return f"{parent}.{''.join(f'{branch}-' for branch in branches)}{name}-{ordinal}"


def is_within(lineage: str, root: str) -> bool:
    """Whether an agent is `root` or one below it."""
    return lineage == root or lineage.startswith(f"{root}.")


def depth_of(lineage: str) -> int:
    """How far below the root an agent stands; the root itself at 0."""
    return lineage.count(".")


def first_lineage(lineage: str) -> str:
    """The lineage without the marks of agents that were forked again after a cut."""
    return re.sub(r"~[0-9a-f]+", "", lineage)


def effect_key(
    execution_id: UUID, lineage: str, branches: Path, *, tool: str, arguments_hash: bytes, ordinal: int
) -> str:
    """The idempotency key of an effect: 40 hexadecimal digits.

    It names the call by what it is and which of its equals it is, not by its number in the journal, so that a journal
    that was cut, or code that grew a step before it, still finds the effect that already happened.
    """
    return _key_of(str(execution_id), first_lineage(lineage), list(branches), tool, arguments_hash.hex(), ordinal)


def question_key(
    execution_id: UUID, lineage: str, branches: Path, *, kind: str, essence_hash: bytes, ordinal: int
) -> str:
    """The key under which the answer to a question is found again after a cut: by what is asked, and by whom."""
    place = (first_lineage(lineage), list(branches))
    return _key_of(str(execution_id), "ask", *place, kind, essence_hash.hex(), ordinal)


def shared_key(execution_id: UUID, name: str) -> str:
    """The key of a question that all agents of a run share: whoever asks it waits for the same answer."""
    return _key_of(str(execution_id), "shared", name)


def _key_of(*identity: Any) -> str:
    return hashlib.sha256(canonical([*identity]).encode()).hexdigest()[:40]
