"""Removes bytes from the file storage that no row knows: their writer died, or whom they belonged to is gone."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from django.core.files.storage import default_storage
from django.utils import timezone

from memory.ingestion import files

# A file that is just being written has no row yet.
GRACE: Final = timedelta(hours=1)
AT_ONCE: Final = 500


def remove_strays(folder: str, *, known: Callable[[Sequence[str]], set[str]], is_there: Callable[[str], bool]) -> int:
    """How many went. In `folder` lies a folder for each owner. `known`: those of these names that have a row.
    `is_there`: whether there is still an owner of this name; of one who is gone nothing is being written any more."""
    removed = 0
    for owner, paths in _stored(folder):
        owner_is_there = is_there(owner)
        for start in range(0, len(paths), AT_ONCE):
            some = paths[start : start + AT_ONCE]
            have_rows = known(some)
            for path in some:
                if path not in have_rows and (not owner_is_there or _is_old(path)):
                    files.remove(path)
                    removed += 1
    return removed


def _stored(folder: str) -> Iterator[tuple[str, list[str]]]:
    for owner in _listed(folder)[0]:
        yield owner, [f"{folder}/{owner}/{name}" for name in _listed(f"{folder}/{owner}")[1]]


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
