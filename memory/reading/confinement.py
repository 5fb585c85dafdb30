"""What the reading process takes from itself before it looks at a file: memory, time, writing, every other file, the
network, other programs. Knows nothing of formats. What this machine cannot take away (Linux only: Landlock and seccomp)
is left; the limits of time and files are always there."""

import ctypes
import os
import platform
import resource
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from memory.reading import caps

_OPEN_FILES: Final = 64
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_SECCOMP_MODE_FILTER: Final = 2

# Landlock: linux/landlock.h. The numbers of its calls are the same on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights to files each version knows; later ones know 16."""
_TCP_RIGHTS: Final = 0b11
_SCOPES: Final = 0b11

# seccomp: the architecture, and the calls that read no file: socket, socketpair, execve, execveat, ptrace,
# process_vm_readv, process_vm_writev, io_uring_setup.
_FORBIDDEN: Final = {
    "x86_64": (0xC000003E, (41, 53, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 199, 221, 281, 117, 270, 271, 425)),
}
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # the second: EPERM
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32: Final = 0x40000000


def confine(document: Path) -> None:
    """From here on nothing but `document` and the programs' own folders can be read, and nothing written or reached."""
    for what, most in (
        (resource.RLIMIT_AS, caps.MEMORY_BYTES),
        (resource.RLIMIT_CPU, caps.CPU_S),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # macOS knows the first and refuses it
            resource.setrlimit(what, (most, most))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            _read_only_these(libc, [document, *_own_folders()])
            _forbid_calls(libc)


def _own_folders() -> list[Path]:
    """Of the interpreter, its libraries and this code, from which parsers are still to be imported; not the folder
    that it lies in, where secrets and other people's files may be."""
    root = Path(__file__).parents[2]
    system = ("/usr", "/lib", "/lib64", "/etc/localtime", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
    return [root / "memory", root / "hyperagent", Path(sys.prefix), Path(sys.base_prefix), *map(Path, system)]


def _read_only_these(libc: ctypes.CDLL, paths: list[Path]) -> None:
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return
    rights = [(1 << _FILE_RIGHTS.get(version, 16)) - 1]
    rights += [_TCP_RIGHTS] if version >= 4 else []
    rights += [_SCOPES] if version >= 6 else []
    attributes = struct.pack(f"={len(rights)}Q", *rights)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return
    for path in paths:
        _may_read(libc, ruleset, path)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _may_read(libc: ctypes.CDLL, ruleset: int, path: Path) -> None:
    try:
        opened = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return
    rights = _READ_FILE | (_READ_DIR if path.is_dir() else 0)
    libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    os.close(opened)


def _forbid_calls(libc: ctypes.CDLL) -> None:
    """A filter in the kernel's little language: code, jump if true, jump if false, value."""
    known = _FORBIDDEN.get(platform.machine())
    if known is None:
        return
    architecture, calls = known
    left = len(calls)
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 0, left + 3, architecture), (_LOAD, 0, 0, 0), (_AT_LEAST, left + 1, 0, _X32)]
    steps += [(_EQUAL, left - index, 0, call) for index, call in enumerate(calls)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(program)))
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(header)), 0, 0)
