"""The system calls that programs in a box may not make, as the filter that the kernel runs (classic BPF).

Pure: gives bytes. Whoever installs them is another. A call that is not named here is allowed if it is older than this
file, and does not exist if it is newer.
"""

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# linux/filter.h and linux/seccomp.h
_LOAD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_JUMP_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_REFUSE: Final = 0x00050000
_NUMBER_AT: Final = 0
_MACHINE_AT: Final = 4
_ARGUMENTS_AT: Final = 16

# The first number that no kernel known to this file gives a meaning (Linux 6.18). x32 has bit 30 set and lies above.
FIRST_UNKNOWN: Final = 470

_NEW_NAMESPACES: Final = 0x7E020000
_MAP_HUGETLB: Final = 0x40000
_PR_SET_SECCOMP: Final = 22
_TERMINAL_INPUT: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
# What a family may carry: anything else would have the kernel load a module for who asks.
_PROTOCOLS: Final = {_AF_UNIX: (0, 1), _AF_INET: (0, 6, 17), _AF_INET6: (0, 6, 17), _AF_NETLINK: (0,)}


@dataclass(frozen=True, slots=True)
class Machine:
    """How a kernel names itself to a filter, and its numbers. `numbers` holds what this machine has of them."""

    audit_arch: int
    numbers: Mapping[str, int]


# name: number on x86_64, number on aarch64 (None: it has none)
_NUMBERS: Final[Mapping[str, tuple[int, int | None]]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # namespaces, mounts, roots
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # what has no namespace: keys, the clock, the kernel's log, its accounts
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # the parts of the kernel that most of its holes were in
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "vmsplice": (278, 75),
    "seccomp": (317, 277),
    "personality": (135, 92),
    "nfsservctl": (180, 42),
    "lookup_dcookie": (212, 18),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "_sysctl": (156, None),
    "sysfs": (139, None),
    "ustat": (136, None),
    "create_module": (174, None),
    "get_kernel_syms": (177, None),
    "query_module": (178, None),
    "vserver": (236, None),
    # memory that nobody could count, and where memory lies
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # looked at closer
    "clone": (56, 220),
    "clone3": (435, 435),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "mmap": (9, 222),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}

MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(0xC000003E, {name: pair[0] for name, pair in _NUMBERS.items()}),
    "aarch64": Machine(0xC00000B7, {name: pair[1] for name, pair in _NUMBERS.items() if pair[1] is not None}),
}

# Without clone3 a C library falls back to clone, whose flags a filter can read. Of the others programs are told that
# they do not exist, so that they do without.
_MISSING: Final = ("clone3", "memfd_create", "memfd_secret", "shmget", "semget", "msgget")
# Of oneself only (0): with another's number the box's own keeper could be slowed or ended.
_OWN_ONLY: Final = {
    "prlimit64": 0,
    "setpriority": 1,
    "ioprio_set": 1,
    "sched_setparam": 0,
    "sched_setscheduler": 0,
    "sched_setaffinity": 0,
    "sched_setattr": 0,
}
_CLOSER: Final = frozenset({"clone", "socket", "socketpair", "ioctl", "mmap", "prctl", *_OWN_ONLY})


def filter_for(machine: str) -> bytes:
    """The filter, an array of `struct sock_filter`. KeyError for a machine whose numbers are not known here."""
    known = MACHINES[machine]
    code = [
        _step(_LOAD, _MACHINE_AT),
        _step(_JUMP_EQUAL, known.audit_arch, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_JUMP_AT_LEAST, FIRST_UNKNOWN, no=1),
        _refuse(errno.ENOSYS),
    ]
    for name, number in known.numbers.items():
        if name in _CLOSER:
            block = [*_closer(name), _step(_RETURN, _ALLOW)]
        else:
            block = [_refuse(errno.ENOSYS if name in _MISSING else errno.EPERM)]
        code += [_step(_JUMP_EQUAL, number, no=len(block)), *block]
    code.append(_step(_RETURN, _ALLOW))
    return b"".join(code)


def _closer(name: str) -> list[bytes]:
    """What of a call's arguments is refused; who falls through is allowed. Only the lower 32 bits are looked at: these
    arguments are ints, of which the kernel reads no more."""
    match name:
        case "clone":
            steps = [_argument(0), _step(_JUMP_ANY_BIT, _NEW_NAMESPACES, no=1), _refuse(errno.EPERM)]
        case "mmap":
            steps = [_argument(3), _step(_JUMP_ANY_BIT, _MAP_HUGETLB, no=1), _refuse(errno.EPERM)]
        case "prctl":
            steps = [_argument(0), _step(_JUMP_EQUAL, _PR_SET_SECCOMP, no=1), _refuse(errno.EPERM)]
        case "ioctl":
            steps = [_argument(1)]
            for request in _TERMINAL_INPUT:
                steps += [_step(_JUMP_EQUAL, request, no=1), _refuse(errno.EPERM)]
        case "socketpair":
            steps = [_argument(0), _step(_JUMP_EQUAL, _AF_UNIX, yes=1), _refuse(errno.EAFNOSUPPORT)]
        case "socket":
            steps = _socket()
        case _:
            steps = [_argument(_OWN_ONLY[name]), _step(_JUMP_EQUAL, 0, yes=1), _refuse(errno.EPERM)]
    return steps


def _socket() -> list[bytes]:
    steps = [_argument(0)]
    for family, protocols in _PROTOCOLS.items():
        inner = [_argument(2)]
        for protocol in protocols:
            inner += [_step(_JUMP_EQUAL, protocol, no=1), _step(_RETURN, _ALLOW)]
        inner.append(_refuse(errno.EPERM))
        steps += [_step(_JUMP_EQUAL, family, no=len(inner)), *inner]
    return [*steps, _refuse(errno.EAFNOSUPPORT)]


def _argument(position: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS_AT + 8 * position)


def _refuse(code: int) -> bytes:
    return _step(_RETURN, _REFUSE | code)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)
