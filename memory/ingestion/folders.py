"""Which files are meant by the paths that somebody names. Reads directories, no file."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """In order: files as they are named, folders with all that is below them. Hidden ones are left out unless they are
    named themselves; links to folders are not followed. Raises FileNotFoundError for what is not there."""
    for path in paths:
        if path.is_dir():
            yield from _below(path)
        elif path.exists():
            yield path
        else:
            raise FileNotFoundError(f"There is no file or folder '{path}'.")


def _below(folder: Path) -> Iterator[Path]:
    for name, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for one in sorted(files):
            path = Path(name, one)
            if not one.startswith(".") and path.is_file():
                yield path
