"""A network of namespaces on one machine: one for each part, all on one bridge, each of which can be cut off it.

The names of all that is made carry the number of the process that made it, so what a killed one left is known and
removed. Knows nothing of what runs in it. Linux only, and for root.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hyperagent.lib.leftovers import birth_of

MARK: Final = "ha"
SUBNET: Final = "10.213"
HOSTS_FOLDER: Final = Path("/etc/netns")
ROUTER: Final = 1
FIRST: Final = 10
# What this machine is called by the parts.
OUTSIDE: Final = "outside"


class NoNetwork(Exception):
    """Namespaces cannot be made here; says why and what to do."""


@dataclass
class Network:
    """`number`: of the subnet. The parts' names must be known at once: each finds the others by them."""

    number: int
    places: Mapping[str, str]
    """The address of each part."""
    owner: int = field(default_factory=os.getpid)
    partitioned: set[str] = field(default_factory=set)

    @property
    def bridge(self) -> str:
        return f"{MARK}{self.owner}br"

    @property
    def outside(self) -> str:
        """This machine, as the parts reach it."""
        return f"{SUBNET}.{self.number}.{ROUTER}"

    @property
    def subnet(self) -> str:
        return f"{SUBNET}.{self.number}.0/24"

    def namespace(self, name: str) -> str:
        return f"{MARK}{self.owner}-{name}"

    def inside(self, name: str, command: Sequence[str]) -> tuple[str, ...]:
        """The command that runs `command` in the namespace of a part, as the same process."""
        return (_ip(), "netns", "exec", self.namespace(name), *command)

    def partition(self, name: str) -> None:
        """From now on nothing reaches it or comes from it, and nobody is told: as if a cable were cut."""
        _run("link", "set", self._cable(name), "nomaster")
        self.partitioned.add(name)

    def rejoin(self, name: str) -> None:
        _run("link", "set", self._cable(name), "master", self.bridge)
        self.partitioned.discard(name)

    def set_kernel(self, name: str, values: Mapping[str, object]) -> None:
        """Settings of the kernel that hold in this namespace alone."""
        for setting, value in values.items():
            done = subprocess.run(
                self.inside(name, ("sysctl", "-q", "-w", f"{setting}={value}")),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                raise NoNetwork(f"{setting} cannot be set in the namespace of {name}: {done.stderr.strip()}")

    def remove(self) -> None:
        """What still runs in it is killed."""
        for name in self.places:
            _remove_namespace(self.namespace(name))
        _run("link", "del", self.bridge, may_fail=True)

    def _cable(self, name: str) -> str:
        return f"{MARK}{self.owner}v{list(self.places).index(name)}"

    def _make(self, aliases: Mapping[str, Sequence[str]]) -> None:
        _run("link", "add", self.bridge, "type", "bridge")
        _run("addr", "add", f"{self.outside}/24", "dev", self.bridge)
        _run("link", "set", self.bridge, "up")
        for name, address in self.places.items():
            self._add(name, address, _hosts(self.places, self.outside, aliases))

    def _add(self, name: str, address: str, hosts: str) -> None:
        space, cable = self.namespace(name), self._cable(name)
        folder = HOSTS_FOLDER / space
        folder.mkdir(parents=True)
        (folder / "hosts").write_text(hosts)
        _run("netns", "add", space)
        _run("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
        _run("link", "set", cable, "master", self.bridge, "up")
        _run("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
        _run("-n", space, "link", "set", "eth0", "up")
        _run("-n", space, "link", "set", "lo", "up")


def make(names: Sequence[str], *, aliases: Mapping[str, Sequence[str]]) -> Network:
    """A namespace for each name. `aliases`: further names, each for several parts. Raises NoNetwork."""
    refuse_where_impossible()
    sweep()
    number = _free_number()
    network = Network(number, {name: f"{SUBNET}.{number}.{place}" for place, name in enumerate(names, FIRST)})
    try:
        network._make(aliases)
    except BaseException:
        network.remove()
        raise
    return network


def why_impossible() -> str:
    """Why namespaces cannot be made here, with the way out; empty if they can."""
    if not Path("/proc/self/ns/net").exists():
        return "network namespaces are a thing of Linux; leave --isolated out"
    if os.geteuid() != 0:
        return "network namespaces need root: run it with sudo, or leave --isolated out"
    if shutil.which("ip") is None:
        return "the program `ip` is missing: install iproute2, or leave --isolated out"
    probe = f"{MARK}{os.getpid()}-probe"
    made = subprocess.run([_ip(), "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        why = made.stderr.strip() or "ip netns add failed"
        return f"this machine forbids network namespaces ({why}): a container needs CAP_SYS_ADMIN and CAP_NET_ADMIN"
    _remove_namespace(probe)
    return ""


def refuse_where_impossible() -> None:
    if why := why_impossible():
        raise NoNetwork(why)


def sweep() -> list[str]:
    """Removes the namespaces and bridges of processes that are dead; returns their names."""
    gone = [name for name in (*_namespaces(), *_bridges()) if _is_left_over(name)]
    for name in gone:
        if name.endswith("br"):
            _run("link", "del", name, may_fail=True)
        else:
            _remove_namespace(name)
    return gone


def _is_left_over(name: str) -> bool:
    owner = _owner_of(name)
    return owner is not None and not birth_of(owner)


def _owner_of(name: str) -> int | None:
    """`ha123-web1` and `ha123br` are of process 123; None for what is not ours."""
    number = name.removeprefix(MARK).partition("-")[0].removesuffix("br")
    return int(number) if name.startswith(MARK) and number.isdigit() else None


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _run("netns", "list").splitlines() if line.strip()]


def _bridges() -> list[str]:
    lines = _run("-o", "link", "show", "type", "bridge").splitlines()
    return [line.split(":")[1].strip() for line in lines]


def _remove_namespace(space: str) -> None:
    for pid in _run("netns", "pids", space, may_fail=True).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    _run("netns", "del", space, may_fail=True)
    shutil.rmtree(HOSTS_FOLDER / space, ignore_errors=True)


def _free_number() -> int:
    taken = _run("-o", "-4", "addr", "show")
    for number in range(1, 255):
        if f" {SUBNET}.{number}." not in taken:
            return number
    raise NoNetwork(f"no subnet of {SUBNET}.0.0/16 is free; `ip addr` shows who has them")


def _hosts(places: Mapping[str, str], outside: str, aliases: Mapping[str, Sequence[str]]) -> str:
    lines = ["127.0.0.1 localhost", f"{outside} {OUTSIDE}", *(f"{address} {name}" for name, address in places.items())]
    lines += [f"{places[name]} {alias}" for alias, names in aliases.items() for name in names]
    return "\n".join(lines) + "\n"


def _ip() -> str:
    return shutil.which("ip") or "/usr/sbin/ip"


def _run(*arguments: str, may_fail: bool = False) -> str:
    done = subprocess.run([_ip(), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not may_fail:
        raise NoNetwork(f"`ip {' '.join(arguments)}` says: {done.stderr.strip()}")
    return done.stdout
