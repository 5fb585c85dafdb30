"""Which files of a box and of a workspace have to go from one to the other. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from agents.sandbox.base import HOME, BoxFile
from agents.tools.values import StoredFile

VERSION_OF: Final = "workspace:"
"""Before a path: which version of the workspace's file lies in a box, as its host remembers it. Empty: some version."""
GIVEN_FOR: Final = "given:"
"""Before a path: for which run it was put into a box that did not have it, as the box's host remembers it."""
MOST_FILES_BACK: Final = 50
MOST_FILE_BYTES: Final = 20_000_000
MOST_BYTES_BACK: Final = 100_000_000
MOST_REMOVED: Final = 500
MOST_BYTES_IN: Final = 256_000_000
# What programs and their tools leave for themselves. Hidden folders and files are not taken either.
LEFT_BEHIND: Final = frozenset({"node_modules", "__pycache__"})
SEEN_OF_BROWSER: Final = ".browser"
"""A folder of the workspace with pictures for people and models: no program gets them. What else is hidden there, such
as the run's checklist, a program may read."""
_NAMED: Final = 5
REMOVED: Final = "These files were removed from the workspace as well, where its bin keeps them for some days"
NOT_REPLACED: Final = "This run has read text of others and did not write these files itself, so they were not replaced"
CHANGED_MEANWHILE: Final = (
    "These files are not what the program had: they were changed in the workspace meanwhile, or could not be put into "
    "the sandbox, so they were not replaced"
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`path`: relative to the home folder."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    chosen: tuple[BoxFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Incoming:
    chosen: tuple[StoredFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def in_home(file: BoxFile) -> str:
    """Its path as the workspace has it."""
    return file.path.removeprefix(f"{HOME}/")


def is_kept(path: str) -> bool:
    """Whether a file of the home folder is one for people."""
    parts = PurePosixPath(path).parts
    return not any(part.startswith(".") or part in LEFT_BEHIND for part in parts)


def newer(files: Iterable[StoredFile], marks: Mapping[str, str | None]) -> Incoming:
    """The files of a workspace that a box does not have as they are. `marks`: by path, of those that it got before."""
    chosen: list[StoredFile] = []
    left_out: list[LeftOut] = []
    room = MOST_BYTES_IN
    for file in files:
        if marks.get(file.path) == file.mark or file.path.startswith(f"{SEEN_OF_BROWSER}/"):
            continue
        if file.size_bytes > room:
            left_out.append(LeftOut(file.path, f"with it there would be more than {MOST_BYTES_IN:,} bytes"))
            continue
        room -= file.size_bytes
        chosen.append(file)
    return Incoming(tuple(chosen), tuple(left_out))


def gone(files: Iterable[StoredFile], marks: Mapping[str, str | None]) -> list[str]:
    """What a box got of a workspace that has it no more: somebody deleted it, or gave it another name."""
    standing = {file.path for file in files}
    return sorted(path for path, mark in marks.items() if mark is not None and path not in standing)


def changed(before: Sequence[BoxFile], after: Sequence[BoxFile]) -> Selection:
    """The files that are new or other than before, as many as are taken back; those that lie least deep come first."""
    known = {file.path: (file.changed_ns, file.size_bytes) for file in before}
    found = [
        file for file in after if known.get(file.path) != (file.changed_ns, file.size_bytes) and is_kept(in_home(file))
    ]
    chosen: list[BoxFile] = []
    left_out: list[LeftOut] = []
    room = MOST_BYTES_BACK
    for file in sorted(found, key=lambda file: (file.path.count("/"), file.path)):
        if file.size_bytes > MOST_FILE_BYTES:
            why = f"{file.size_bytes:,} bytes, and {MOST_FILE_BYTES:,} is the most"
        elif len(chosen) >= MOST_FILES_BACK:
            why = f"more than {MOST_FILES_BACK} files at once"
        elif file.size_bytes > room:
            why = f"more than {MOST_BYTES_BACK:,} bytes at once"
        else:
            room -= file.size_bytes
            chosen.append(file)
            continue
        left_out.append(LeftOut(in_home(file), why))
    return Selection(tuple(chosen), tuple(left_out))


def removed(
    before: Sequence[BoxFile], after: Sequence[BoxFile], remembered: Mapping[str, str | None]
) -> dict[str, str]:
    """What lay there and seems to do so no more, of what the workspace put there: with the mark of its version.
    `remembered`: by the box's host. What came along with a handoff is cleared away by others."""
    there = {file.path for file in after}
    paths = [in_home(file) for file in before if file.path not in there]
    marks = {path: remembered.get(f"{VERSION_OF}{path}") for path in sorted(paths) if is_kept(path)}
    return {path: mark for path, mark in marks.items() if mark and f"{GIVEN_FOR}{path}" not in remembered}


def told_removed(paths: Sequence[str]) -> str:
    """For the model."""
    if not paths:
        return ""
    more = f"; and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return f"{REMOVED}: {', '.join(paths[:_NAMED])}{more}."


def told_of(left_out: Sequence[LeftOut], *, beginning: str) -> str:
    """A sentence that names some of them and counts the rest; empty if there are none."""
    if not left_out:
        return ""
    named = "; ".join(f"{one.path} ({one.why})" for one in left_out[:_NAMED])
    more = f"; and {len(left_out) - _NAMED:,} more" if len(left_out) > _NAMED else ""
    return f"{beginning}: {named}{more}."


def told_beside(beside: Mapping[str, str], *, beginning: str) -> str:
    """For the model: which files stayed as they were, and under which name is what the program made of them."""
    if not beside:
        return ""
    named = "; ".join(f"{path} (what the program wrote is {name})" for path, name in list(beside.items())[:_NAMED])
    more = f"; and {len(beside) - _NAMED:,} more" if len(beside) > _NAMED else ""
    return f"{beginning}: {named}{more}."
