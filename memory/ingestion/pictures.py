"""Pictures of pages on this machine's disk: a cache that may vanish at any time, bounded by size and age."""

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Final

from django.conf import settings

MAX_BYTES: Final = 200_000_000
MAX_AGE_S: Final = 7 * 86_400


def folder() -> Path:
    return Path(settings.CONFIG.data_path) / "cache" / "page_images"


def find(key: str) -> bytes | None:
    try:
        return _path(key).read_bytes()
    except OSError:
        return None


def keep(key: str, picture: bytes) -> None:
    """Whole or not at all. A disk that is full keeps nothing."""
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(picture)
            Path(fresh).replace(path)
        except OSError:
            Path(fresh).unlink(missing_ok=True)


def trim() -> int:
    """Removes the old ones, and the oldest of too many. How many."""
    try:
        found = sorted(((path.stat(), path) for path in folder().iterdir()), key=lambda one: -one[0].st_mtime)
    except OSError:
        return 0
    removed, kept_bytes = 0, 0
    for stat, path in found:
        kept_bytes += stat.st_size
        if kept_bytes > MAX_BYTES or stat.st_mtime < time.time() - MAX_AGE_S:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _path(key: str) -> Path:
    return folder() / hashlib.sha256(key.encode()).hexdigest()
