"""Where the embedded servers keep their files, and who may look: private folders, short socket paths, leftovers."""

import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

# A Unix socket's path has 104 bytes on macOS and 108 on Linux.
MAX_SOCKET_PATH = 100


def make_private(folder: Path, *, mode: int = 0o700) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    return folder


def socket_folder(wanted: Path, *, longest_name: str, server: int | None = None) -> Path:
    """`wanted`, or a private folder under /tmp when a socket in `wanted` would have too long a path. `server`: the
    system user who owns it from the second start on, where that is another than ours. Raises PermissionError for one
    that others can get at: whoever reaches a socket needs no password."""
    if len(os.fsencode(wanted / longest_name)) <= MAX_SOCKET_PATH:
        return make_private(wanted)
    mark = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"hyperagent-{os.getuid()}-{mark}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if fault := _trap(folder.lstat(), owners={os.geteuid(), server}):
        raise PermissionError(f"{folder} {fault}. Remove it, or choose a shorter DATA_DIR")
    return folder


def _trap(found: os.stat_result, owners: Collection[int | None]) -> str:
    """What is wrong with a folder that lies where everybody may make one, under a name that can be known before."""
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if found.st_uid not in owners:
        return f"belongs to somebody else (the user with the number {found.st_uid})"
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"is open to others (its mode is {stat.S_IMODE(found.st_mode):o})"
    return ""


def let_pass(path: Path) -> None:
    """Lets other users go through (not list) the folders above `path`; needed where a server runs as its own user."""
    for folder in path.resolve().parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


def let_read(folder: Path) -> None:
    """Lets other users read and run what is in a folder; an installer with a strict umask may have kept it back."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            wanted = mode | stat.S_IROTH | (stat.S_IXOTH if path.is_dir() or mode & stat.S_IXUSR else 0)
            if wanted != mode:
                path.chmod(wanted)


def read_pid(path: Path) -> int | None:
    """The first line of a pid file, if it is there and names a process that lives."""
    try:
        pid = int(path.read_text().split("\n", 1)[0])
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def program_of(pid: int) -> str:
    """The short name of the program that a process runs; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        if Path("/proc/self").exists():
            return ""
        shown = subprocess.run(["ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return Path(shown.stdout.strip()).name
