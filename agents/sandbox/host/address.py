"""Where the host of the boxes of this machine listens: a Unix socket under DATA_DIR/run, for this user alone.

The path of such a socket has at most 107 bytes. A longer one is reached by way of its opened folder.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SOCKET_NAME: Final = "sandboxes.sock"
LOCK_NAME: Final = "sandboxes.lock"
DOORS_NAME: Final = "doors"
MOST_PATH_BYTES: Final = 100


def folder_of(data_path: Path) -> Path:
    return data_path / "run"


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """The path, or another one to the same place that fits into a socket's address; valid within this block."""
    if len(os.fsencode(path)) <= MOST_PATH_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def short_folder(wanted: Path) -> Iterator[Path]:
    """An empty private folder for sockets that others connect to by their path: `wanted`, or one under /tmp where that
    is too long. Gone afterwards."""
    if len(os.fsencode(wanted)) > MOST_PATH_BYTES // 2:
        with tempfile.TemporaryDirectory(prefix="hyperagent-doors-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
        return
    shutil.rmtree(wanted, ignore_errors=True)
    wanted.mkdir(mode=0o700)
    try:
        yield wanted
    finally:
        shutil.rmtree(wanted, ignore_errors=True)
