"""The command line of a box, and the process that comes of it. Knows nothing of what the box is for.

What each wall is there against stands in README.md.
"""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents.sandbox.base import DOORS, HOME, WITHOUT_NETWORK

INNER_ID: Final = 1000
ARCHIVE: Final = "/run/box/keeper.zip"
PACKAGES: Final = "/run/box/packages"
RUNTIME: Final = "/run/box/python"
MEMORY_FOLDERS: Final = (HOME, "/tmp", "/dev/shm", DOORS)  # noqa: S108 - folders of the box
_WAIT_S: Final = 1.0


def _told(settings: Mapping[str, str], *, of: str) -> str:
    """What stands in the environment of other boxes, as these programs read it from a file."""
    names = [name for name in settings if name.startswith(of)]
    return "".join(f"{name.removeprefix(of).lower().replace('_', '-')}={settings[name]}\n" for name in names)


_ETC: Final[Mapping[str, str]] = {
    "passwd": f"user:x:{INNER_ID}:{INNER_ID}::{HOME}:/bin/bash\n",
    "group": f"user:x:{INNER_ID}:\n",
    # So that servers can listen at `localhost`, and that nothing waits for a name server.
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    # As files, for programs are told nothing by their environment that they could do without.
    "pip.conf": f"[global]\n{_told(WITHOUT_NETWORK, of='PIP_')}",
    "npmrc": _told(WITHOUT_NETWORK, of="npm_config_"),
}
_LIBRARY_FOLDERS: Final = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


@dataclass(frozen=True, slots=True)
class Identity:
    """The account of the host that boxes run under: never root. None: the product's own."""

    uid: int | None

    @classmethod
    def found(cls) -> "Identity":
        """Root gives its rights away: to a number that no account has, so that nobody else's processes share it."""
        if os.geteuid() != 0:
            return cls(None)
        taken = {account.pw_uid for account in pwd.getpwall()}
        return cls(next(uid for uid in range(65533, 65000, -1) if uid not in taken))


def executable() -> str | None:
    return shutil.which("bwrap")


def arguments(
    bwrap: str, *, keeper: Sequence[str], archive_fd: int, etc_fds: Mapping[str, int], seen: Mapping[str, Path]
) -> list[str]:
    """`seen`: what of the host is seen read-only, by the path inside."""
    line = [bwrap]
    line += ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    line += ["--unshare-cgroup-try", "--uid", str(INNER_ID), "--gid", str(INNER_ID), "--disable-userns"]
    line += ["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox"]
    # For the keeper alone, in a namespace that owns nothing but what it mounts itself: it gives it up at once.
    line += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]
    line += ["--ro-bind", "/usr", "/usr", *_library_folders()]
    line += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    line += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    for name, fd in etc_fds.items():
        line += ["--perms", "0444", "--file", str(fd), f"/etc/{name}"]
    line += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    line += ["--dev", "/dev", "--perms", "0444", "--file", str(archive_fd), ARCHIVE]
    for inside, outside in seen.items():
        line += ["--ro-bind", str(outside), inside]
    for folder in MEMORY_FOLDERS:
        line += ["--dir", folder]
    return [*line, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--", *keeper]


def _library_folders() -> Iterator[str]:
    """As the host has them: mostly links into /usr."""
    for name in _LIBRARY_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), f"/{name}")
        elif path.is_dir():
            yield from ("--ro-bind", f"/{name}", f"/{name}")


class Launched:
    """The bubblewrap process of one box. Where it goes, the box goes, and the other way round."""

    def __init__(self, process: "subprocess.Popen[bytes]", complaints: int) -> None:
        self._process = process
        self._complaints = complaints
        self._first: int | None = None

    def complaint(self) -> str:
        """What bubblewrap or the keeper said before it went."""
        text = os.pread(self._complaints, 4096, 0).decode("utf-8", "replace").strip()
        return text.splitlines()[-1] if text else ""

    def gone_soon(self) -> None:
        """The keeper goes by itself when its channel is closed; this is for one that hangs."""
        if self._process.poll() is None:
            self._end_first_process()

    async def gone(self) -> None:
        """Waits until nothing of the box is left: bubblewrap waits for its first process, and that for all others."""
        await self._wait()
        if self._process.poll() is None:
            self._process.kill()
            await self._wait()
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1

    def _end_first_process(self) -> None:
        """Killed by number, which the kernel cannot give to another: its parent has not reaped it."""
        pid = self._process.pid
        with contextlib.suppress(OSError, ValueError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)

    async def _wait(self) -> None:
        if self._process.poll() is not None:
            return
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        handle = os.pidfd_open(self._process.pid)
        loop.add_reader(handle, ended.set)
        try:
            async with asyncio.timeout(_WAIT_S):
                await ended.wait()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        self._process.poll()


def launch(
    bwrap: str,
    *,
    identity: Identity,
    archive: bytes,
    keeper: Sequence[str],
    seen: Mapping[str, Path],
    channel: socket.socket,
) -> Launched:
    """`keeper`: its command line, to which the number of the channel is added. Raises OSError."""
    with contextlib.ExitStack() as files:
        archive_fd = _in_memory(files, archive)
        etc = {name: _in_memory(files, text.encode()) for name, text in _ETC.items()}
        complaints = os.memfd_create("complaints", os.MFD_CLOEXEC)
        line = arguments(bwrap, keeper=[*keeper, str(channel.fileno())], archive_fd=archive_fd, etc_fds=etc, seen=seen)
        try:
            process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                cwd="/",
                env={},
                pass_fds=[archive_fd, *etc.values(), channel.fileno()],
                user=identity.uid,
                group=identity.uid,
                extra_groups=None if identity.uid is None else [],
            )
        except BaseException:
            os.close(complaints)
            raise
    return Launched(process, complaints)


def _in_memory(files: contextlib.ExitStack, content: bytes) -> int:
    fd = os.memfd_create("file", os.MFD_CLOEXEC)
    files.callback(os.close, fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
