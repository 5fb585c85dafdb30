"""What the keeper does to itself before it starts anything: sized folders, no rights, no way back (Linux calls)."""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_NEW_MOUNTS: Final = 0x00020000
_NOSUID, _NODEV, _NOEXEC, _READ_ONLY, _REMOUNT, _BIND = 2, 4, 8, 1, 32, 4096
_SET_DUMPABLE, _SET_SECCOMP, _DROP_BOUNDING, _SUBREAPER, _AMBIENT = 4, 22, 24, 36, 47
_FILTER, _CLEAR_ALL = 2, 4
_LAST_CAPABILITY: Final = 63
_CAPABILITY_VERSION: Final = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


_DEFAULT, _IGNORE = 0, 1
_SIGNALS: Final = range(1, 65)
_SIGKILL, _SIGSTOP, _SIGCHLD = 9, 19, 17


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def _must(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def own_mounts() -> None:
    """From here on mounts are the keeper's own. What bubblewrap mounted stays locked as it is."""
    _must(_libc.unshare(_NEW_MOUNTS), "a mount namespace of its own")


def mount_memory(path: str, *, size_bytes: int, files: int, mode: int = 0o700) -> None:
    """A folder in memory that can hold so much and so many: full is full, and says so to who writes."""
    options = f"size={size_bytes},nr_inodes={files},mode={mode:o}".encode()
    _must(_libc.mount(b"box", path.encode(), b"tmpfs", _NOSUID | _NODEV, options), f"the folder {path}")


def cover_file(path: str) -> None:
    """Reads as empty from here on."""
    _must(_libc.mount(b"/dev/null", path.encode(), None, _BIND, None), f"covering {path}")


def cover_folder(path: str) -> None:
    """Empty, and stays so."""
    mount_memory(path, size_bytes=1 << 12, files=1, mode=0o755)
    make_read_only(path)


def make_read_only(path: str) -> None:
    flags = _REMOUNT | _BIND | _READ_ONLY | _NOSUID | _NODEV | _NOEXEC
    _must(_libc.mount(None, path.encode(), None, flags, None), f"{path} read-only")


def give_up_rights() -> None:
    """Every capability, in every set, for itself and all that it will start."""
    _must(_libc.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0), "clearing the ambient set")
    for number in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_DROP_BOUNDING, number, 0, 0, 0)  # fails from the first number on that the kernel does not have
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _must(_libc.capset(header, nothing), "giving up the capabilities")


def hide() -> None:
    """Nobody with the same number may look into this process: not its memory, files, environment nor folders."""
    _must(_libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0), "hiding from other programs")


def install_filter(steps: bytes) -> None:
    """Holds for this process and all that it will start, and cannot be taken off."""
    memory = ctypes.create_string_buffer(steps, len(steps))
    program = _FilterProgram(len(steps) // 8, ctypes.cast(memory, ctypes.c_void_p))
    _must(_libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "the filter of system calls")


def adopt_orphans() -> None:
    """Descendants whose parent died become children of this process, and not of the first one."""
    _must(_libc.prctl(_SUBREAPER, 1, 0, 0, 0), "adopting orphans")


def ignore_signals() -> None:
    """All but two that nobody can ignore, and the one that tells of children: with that ignored, there is nothing to
    wait for."""
    _handle_all(_IGNORE)


def default_signals() -> None:
    _handle_all(_DEFAULT)


def _handle_all(how: int) -> None:
    """By the C library, for the module `signal` is expensive. It refuses the few that are its own."""
    for number in _SIGNALS:
        if number not in (_SIGKILL, _SIGSTOP):
            _libc.signal(number, ctypes.c_void_p(_DEFAULT if number == _SIGCHLD else how))
