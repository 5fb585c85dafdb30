"""A folder on disk: which folders may be watched, what is in one, and opening a file of it.

No link is followed anywhere: neither out of the folder nor within it. What begins with a dot is not looked at.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from hyperagent.lib.text import clean_text
from memory.connecting.values import LookFailed

MAX_FILES: Final = 10_000
MAX_DEPTH: Final = 40
READABLE: Final = frozenset((
    ".pdf", ".docx", ".docm", ".dotx", ".xlsx", ".xlsm", ".xls", ".ods", ".csv", ".tsv", ".pptx", ".pptm", ".ppsx",
    ".html", ".htm", ".eml", ".md", ".markdown", ".txt",
))  # fmt: skip
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Entry:
    """`parts`: its way from the folder. `marks`: what differs when it was written."""

    parts: tuple[str, ...]
    size_bytes: int
    changed_ns: int

    @property
    def place(self) -> str:
        """To be shown and stored; `key` tells it apart also where its bytes are no text."""
        return clean_text("/".join(self.parts))

    @property
    def key(self) -> str:
        return hashlib.sha256(os.fsencode("/".join(self.parts))).hexdigest()

    @property
    def marks(self) -> dict[str, int]:
        return {"size": self.size_bytes, "changed": self.changed_ns}


@dataclass(frozen=True, slots=True)
class Listed:
    """`blind`: folders within that could not be read, as places with "/" at the end. `device`: the number of the disk
    on which the folder lies."""

    entries: tuple[Entry, ...]
    blind: tuple[str, ...]
    device: int


def folder_fault(location: str, roots: Sequence[str]) -> str:
    """Why this folder may not be watched, as a sentence; empty if it may. A link is judged by where it leads."""
    if not roots:
        return "No folder may be watched here. An administrator of the machine names them by WATCH_ROOTS."
    allowed = f"Allowed are {', '.join(roots)}, and what is within."
    path = Path(location)
    if "\x00" in location or not path.is_absolute():
        return f"Give the folder's absolute path. {allowed}"
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return f"There is no folder {location}, or it cannot be read. {allowed}"
    if not any(real.is_relative_to(Path(root).resolve()) for root in roots):
        return f"{location} is not among the folders that may be watched. {allowed}"
    if not real.is_dir():
        return f"{location} is no folder."
    return ""


def listed(folder: str) -> Listed:
    """All files within that can be read by their names, in the order of their ways. Raises LookFailed."""
    walk = _Walk()
    try:
        descriptor = os.open(folder, _OPEN | os.O_DIRECTORY)
    except OSError as error:
        raise LookFailed(f"The folder cannot be read: {error.strerror}.") from None
    try:
        device = os.fstat(descriptor).st_dev
        walk.go_through(descriptor, ())
    except OSError as error:
        raise LookFailed(f"The folder cannot be read: {error.strerror}.") from None
    finally:
        os.close(descriptor)
    return Listed(tuple(sorted(walk.entries, key=lambda entry: entry.parts)), tuple(walk.blind), device)


def opened(folder: str, parts: Sequence[str]) -> IO[bytes]:
    """A file of the folder, reached without following any link. Raises OSError."""
    descriptor = os.open(folder, _OPEN | os.O_DIRECTORY)
    try:
        for part in parts:
            inner = os.open(part, _OPEN, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{parts[-1]} is no file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


class _Walk:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.blind: list[str] = []

    def go_through(self, descriptor: int, way: tuple[str, ...]) -> None:
        """Raises OSError where what is in this folder cannot be looked at, LookFailed for too many files."""
        for name in os.listdir(descriptor):
            if name.startswith((".", "~$")):
                continue
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:
                continue  # Gone since it was listed.
            if stat.S_ISDIR(found.st_mode):
                self._enter(descriptor, (*way, name))
            elif stat.S_ISREG(found.st_mode) and Path(name).suffix.lower() in READABLE:
                self.entries.append(Entry((*way, name), found.st_size, found.st_mtime_ns))
                if len(self.entries) > MAX_FILES:
                    raise LookFailed(f"The folder has more than {MAX_FILES:,} files. Watch smaller ones within it.")

    def _enter(self, descriptor: int, way: tuple[str, ...]) -> None:
        try:
            if len(way) > MAX_DEPTH:
                raise OSError
            inner = os.open(way[-1], _OPEN | os.O_DIRECTORY, dir_fd=descriptor)
            try:
                self.go_through(inner, way)
            finally:
                os.close(inner)
        except OSError:
            self.blind.append(clean_text(f"{'/'.join(way)}/"))
