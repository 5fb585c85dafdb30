"""Pictures of pages on this machine's disk: a cache that may vanish at any time, bounded by size and age. Those of a
file lie in a folder of its own, and go with it."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from django.conf import settings

MAX_BYTES: Final = 200_000_000
MAX_AGE_S: Final = 7 * 86_400


def folder() -> Path:
    return Path(settings.CONFIG.data_path) / "cache" / "page_images"


def find(stored_as: str, key: str) -> bytes | None:
    """`stored_as`: the file's name in the storage. `key`: which of its pages, and how large."""
    try:
        return _path(stored_as, key).read_bytes()
    except OSError:
        return None


def keep(stored_as: str, key: str, picture: bytes) -> None:
    """Whole or not at all. A disk that is full keeps nothing."""
    path = _path(stored_as, key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(picture)
            Path(fresh).replace(path)
        except OSError:
            Path(fresh).unlink(missing_ok=True)


def forget(stored_as: str) -> None:
    shutil.rmtree(_folder_of(stored_as), ignore_errors=True)


def trim() -> int:
    """Removes the old ones, and the oldest of too many. How many."""
    try:
        files = [(path.stat(), path) for path in folder().rglob("*") if path.is_file()]
    except OSError:
        return 0
    found = sorted(files, key=lambda one: -one[0].st_mtime)
    removed, kept_bytes = 0, 0
    for stat, path in found:
        kept_bytes += stat.st_size
        if kept_bytes > MAX_BYTES or stat.st_mtime < time.time() - MAX_AGE_S:
            path.unlink(missing_ok=True)
            removed += 1
            with contextlib.suppress(OSError):  # Others of the file are left.
                path.parent.rmdir()
    return removed


def _path(stored_as: str, key: str) -> Path:
    return _folder_of(stored_as) / hashlib.sha256(key.encode()).hexdigest()


def _folder_of(stored_as: str) -> Path:
    return folder() / hashlib.sha256(stored_as.encode()).hexdigest()
