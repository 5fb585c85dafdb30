"""Removes bytes from the file storage that no row knows: their writer died, or whom they belonged to is gone."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from django.core.files.storage import default_storage
from django.utils import timezone

from memory.ingestion import files

# A file that is just being written has no row yet.
GRACE: Final = timedelta(hours=1)
AT_ONCE: Final = 500
WORK_S: Final = 30.0
"""Of very many files a part is looked at each time: listing all of a million takes minutes in a bucket."""


def remove_strays(
    folder: str,
    *,
    known: Callable[[Sequence[str]], set[str]],
    is_there: Callable[[str], bool],
    work_s: float = WORK_S,
) -> int:
    """How many went, within this time. In `folder` lies a folder for each owner. `known`: those of these names that
    have a row. `is_there`: whether there is still an owner of this name; of one who is gone nothing is being written
    any more."""
    until = time.monotonic() + work_s
    removed = 0
    for owner, paths in _lots(folder):
        have_rows = known(paths)
        strays = [path for path in paths if path not in have_rows]
        owner_is_there = bool(strays) and is_there(owner)
        for path in strays:
            if not owner_is_there or _is_old(path):
                files.remove(path)
                removed += 1
        if time.monotonic() > until:
            break
    return removed


def _lots(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Of each owner at least one, which may be empty."""
    for owner in _from_anywhere(_listed(folder)[0]):
        paths = [f"{folder}/{owner}/{name}" for name in _from_anywhere(_listed(f"{folder}/{owner}")[1])]
        for start in range(0, max(len(paths), 1), AT_ONCE):
            yield owner, paths[start : start + AT_ONCE]


def _from_anywhere(names: list[str]) -> list[str]:
    """All of them, from a random one on: whoever comes to no end comes to each at some time."""
    first = random.randrange(len(names)) if names else 0  # noqa: S311 - nothing secret
    return names[first:] + names[:first]


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """The folders and the files in it."""
    try:
        folders, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return [], []
    return list(folders), list(names)


def _is_old(path: str) -> bool:
    try:
        return default_storage.get_modified_time(path) < timezone.now() - GRACE
    except FileNotFoundError:
        return False
