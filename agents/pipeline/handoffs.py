"""Who may hand its work to whom, how often, and what goes along. Pure; nothing is moved here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from agents.craft.exchange import HandoffInfo
from hyperagent.lib.clipping import at_a_boundary

MAX_HANDOFFS: Final = 3
# An agent that is not in here hands off to nobody.
MATRIX: Final[Mapping[str, tuple[str, ...]]] = {
    "chat": ("research", "code", "writing", "data", "rag", "web", "mail"),
    "research": ("code", "data", "rag", "web"),
    "writing": ("research", "rag"),
    "code": ("data",),
    "data": ("code",),
    "rag": (),
    "web": (),
    "mail": (),
}
ARTIFACT_PATTERNS: Final = ("*.py", "*.csv", "*.json", "*.txt", "*.md", "*.html", "*.js", "*.ts")
MAX_ARTIFACTS: Final = 10
MAX_ARTIFACTS_MB: Final = 50
# What one handoff says to the next agent, at most.
CONTEXT_CHARS: Final = 2_000


def targets_of(agent: str) -> tuple[str, ...]:
    return MATRIX.get(agent, ())


@dataclass(frozen=True, slots=True)
class HandoffManager:
    """The handoffs of one piece of work, oldest first, and what its run has had and may have of them.

    `handoff_count` may be more than the history has: it counts for the whole run, the history for this work only.
    """

    handoff_history: tuple[HandoffInfo, ...] = ()
    handoff_count: int = 0
    max_handoffs: int = MAX_HANDOFFS

    @property
    def visited_agents(self) -> tuple[str, ...]:
        """Every agent that had the work, in the order in which it first came to them."""
        names = [name for handoff in self.handoff_history for name in (handoff.source_agent, handoff.target_agent)]
        return tuple(dict.fromkeys(names))

    def can_handoff(self, source: str, target: str) -> bool:
        return not self.why_not(source, target)

    def why_not(self, source: str, target: str) -> str:
        """Why `source` may not hand off to `target`, in words for the model; empty if it may."""
        if target not in targets_of(source):
            allowed = ", ".join(targets_of(source)) or "nobody"
            return f"'{source}' cannot hand off to '{target}', only to: {allowed}. Do the task yourself."
        if target in self.visited_agents:
            return f"'{target}' has handed this task on already, so it cannot have it back. Do the task yourself."
        if self.handoff_count >= self.max_handoffs:
            return f"This run has used its {self.max_handoffs} handoffs. Do the task yourself with what you have."
        return ""

    def record_handoff(self, handoff: HandoffInfo) -> "HandoffManager":
        """With this handoff as well, which was allowed."""
        return replace(self, handoff_history=(*self.handoff_history, handoff), handoff_count=self.handoff_count + 1)

    def get_handoff_summary(self) -> str:
        """One line for each handoff, oldest first; empty if there was none."""
        return "\n".join(
            f"{number}. {handoff.source_agent} -> {handoff.target_agent}: {handoff.task_description}"
            for number, handoff in enumerate(self.handoff_history, start=1)
        )


def handoff_context(chain: Sequence[HandoffInfo]) -> str:
    """What the agent at the end of the chain is told of those before it; empty without a handoff."""
    if not chain:
        return ""
    said = [f"How this task came to you:\n{HandoffManager(tuple(chain)).get_handoff_summary()}"]
    for handoff in chain:
        if handoff.context.strip():
            told = at_a_boundary(handoff.context.strip(), CONTEXT_CHARS)
            said.append(f"What {handoff.source_agent} says of it:\n{told}")
        if handoff.artifacts:
            said.append(f"Files that {handoff.source_agent} gives along: {', '.join(handoff.artifacts)}")
    return "\n\n".join(said)


@dataclass(frozen=True, slots=True)
class File:
    """A file of a workspace; `path` is relative to it, with slashes."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    chosen: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    """Files that fit a pattern and do not go along all the same."""


def select_artifacts(
    files: Iterable[File],
    patterns: Sequence[str] = ARTIFACT_PATTERNS,
    *,
    max_files: int = MAX_ARTIFACTS,
    max_size_mb: float = MAX_ARTIFACTS_MB,
) -> Selection:
    """The files that go along with a handoff, in the order given: put first what matters most.

    Patterns are matched with the file's name, wherever it lies. `max_size_mb` is for all of them together; a file that
    is too large leaves its room to those after it.
    """
    chosen: list[File] = []
    left_out: list[LeftOut] = []
    room_bytes = int(max_size_mb * 1024 * 1024)
    for file in files:
        path = PurePosixPath(file.path)
        if not any(fnmatchcase(path.name, pattern) for pattern in patterns):
            continue
        if path.is_absolute() or ".." in path.parts:
            left_out.append(LeftOut(file.path, "lies outside of the workspace"))
        elif len(chosen) >= max_files:
            left_out.append(LeftOut(file.path, f"more than {max_files} files"))
        elif file.size_bytes > room_bytes:
            left_out.append(LeftOut(file.path, f"more than {max_size_mb:g} MB together"))
        else:
            chosen.append(file)
            room_bytes -= file.size_bytes
    return Selection(tuple(chosen), tuple(left_out))
