"""Folders that boxes are to see, where the account that they run under cannot reach them: root's product may well lie
below /root. They are then copied, once, to a place that everybody can read and only root can write."""

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

from agents.sandbox.local.bubblewrap import Identity
from agents.sandbox.local.runtime import digest_of

CACHE: Final = Path("/var/cache/hyperagent")
_FOR_ALL: Final = stat.S_IROTH | stat.S_IXOTH


def readable(folder: Path, *, by: Identity, cache: Path = CACHE) -> Path:
    """The folder itself, or its copy. Raises OSError where neither can be had."""
    real = folder.resolve(strict=True)
    if by.uid is None or _reachable(real):
        return real
    copy = cache / f"{real.name.lstrip('.')}-{digest_of(real)}"
    if not copy.is_dir():
        _copy(real, copy)
    return copy


def _reachable(folder: Path) -> bool:
    if folder.stat().st_mode & _FOR_ALL != _FOR_ALL:
        return False
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in folder.parents)


def _copy(source: Path, target: Path) -> None:
    """Whole or not at all. Of two that copy at once one is thrown away."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=target.parent, prefix=".making-"))
    try:
        shutil.copytree(source, made, symlinks=True, dirs_exist_ok=True, copy_function=_link_or_copy)
        for path, _, _ in os.walk(made):
            Path(path).chmod(0o755)
        made.rename(target)
    except OSError:
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _link_or_copy(source: str, target: str) -> None:
    """The same file under a second name costs nothing; one that is not for everybody, or on another disk, is copied."""
    mode = Path(source).stat().st_mode
    if mode & stat.S_IROTH:
        try:
            os.link(source, target)
            return
        except OSError:
            pass
    shutil.copyfile(source, target)
    Path(target).chmod(stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
