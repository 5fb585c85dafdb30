"""The filter of system calls, run by an interpreter of its few instructions: also for the machine that this is not."""

import errno
import struct

import pytest

from agents.sandbox.local.seccomp import FIRST_UNKNOWN, MACHINES, filter_for

ALLOW, KILL = 0x7FFF0000, 0x80000000


def decided(machine: str, number: int, *arguments: int, audit_arch: int | None = None) -> int | str:
    """What the kernel would do: "allow", "kill", or the error that it gives."""
    arch = MACHINES[machine].audit_arch if audit_arch is None else audit_arch
    padded = [*arguments, *[0] * (6 - len(arguments))]
    facts = struct.pack("<iIQ6Q", number - (1 << 32 if number >= 1 << 31 else 0), arch, 0, *padded)
    steps = list(struct.iter_unpack("<HBBI", filter_for(machine)))
    at, value = 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                value = int.from_bytes(facts[operand : operand + 4], "little")
            case 0x15:
                at += yes if value == operand else no
            case 0x35:
                at += yes if value >= operand else no
            case 0x45:
                at += yes if value & operand else no
            case 0x06:
                return "allow" if operand == ALLOW else "kill" if operand == KILL else int(operand & 0xFFFF)
            case _:
                raise AssertionError(f"instruction {code:#x}")


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_each_call_of_the_list_is_refused_and_others_are_allowed(machine: str) -> None:
    numbers = MACHINES[machine].numbers
    looked_at_closer = {"clone", "socket", "socketpair", "ioctl", "mmap", "prctl"}
    of_oneself = {name for name in numbers if name.startswith(("sched_set", "prlimit"))}

    for name, number in numbers.items():
        if name in ("setpriority", "ioprio_set"):
            assert decided(machine, number, 0, 0) == "allow"
            assert decided(machine, number, 0, 1) == errno.EPERM
        elif name in of_oneself:
            assert decided(machine, number, 0) == "allow"
            assert decided(machine, number, 1) == errno.EPERM
        elif name not in looked_at_closer:
            assert decided(machine, number) in (errno.EPERM, errno.ENOSYS), name
    ordinary = set(range(FIRST_UNKNOWN)) - set(numbers.values())
    assert {decided(machine, number) for number in ordinary} == {"allow"}


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_arguments_decide_where_a_call_has_a_good_use_too(machine: str) -> None:
    numbers = MACHINES[machine].numbers

    assert decided(machine, numbers["clone"], 0x3D0F00) == "allow"  # a thread
    for namespace in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert decided(machine, numbers["clone"], namespace | 17) == errno.EPERM
    for family, protocol, expected in (
        (1, 0, "allow"),
        (2, 6, "allow"),
        (10, 17, "allow"),
        (16, 0, "allow"),
        (2, 132, errno.EPERM),
        (16, 9, errno.EPERM),
        (17, 3, errno.EAFNOSUPPORT),
        (40, 0, errno.EAFNOSUPPORT),
    ):
        assert decided(machine, numbers["socket"], family, 1, protocol) == expected
    assert decided(machine, numbers["socketpair"], 1) == "allow"
    assert decided(machine, numbers["socketpair"], 30) == errno.EAFNOSUPPORT
    assert decided(machine, numbers["ioctl"], 0, 0x5401) == "allow"
    assert decided(machine, numbers["ioctl"], 0, 0xFFFFFFFF00005412) == errno.EPERM  # the upper half is not read
    assert decided(machine, numbers["mmap"], 0, 0, 0, 0x22) == "allow"
    assert decided(machine, numbers["mmap"], 0, 0, 0, 0x40022) == errno.EPERM
    assert decided(machine, numbers["prctl"], 22) == errno.EPERM


def test_other_ways_into_the_kernel_are_closed() -> None:
    i386, x32 = 0x40000003, 0x40000000

    assert decided("x86_64", 20, audit_arch=i386) == "kill"
    assert decided("aarch64", 20, audit_arch=0x40000028) == "kill"
    assert decided("x86_64", x32 | 39) == errno.ENOSYS
    assert decided("x86_64", FIRST_UNKNOWN) == errno.ENOSYS
    assert decided("x86_64", 0xFFFFFFFF) == errno.ENOSYS
