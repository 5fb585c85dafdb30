"""Boxes on this machine: bubblewrap, no account, no daemon, no image."""

import asyncio
import os
import platform
import resource
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agents.sandbox.base import DOORS, HOME, OUTPUTS, Box, BoxSpec, Limits, SandboxError
from agents.sandbox.local import bubblewrap, selftest
from agents.sandbox.local.box import LocalBox
from agents.sandbox.local.bubblewrap import PACKAGES, RUNTIME, Identity
from agents.sandbox.local.channel import Channel
from agents.sandbox.local.readable import readable
from agents.sandbox.local.runtime import NoPython, Runtime, found
from agents.sandbox.local.seccomp import MACHINES, filter_for

_START: Final = "import sys; sys.path.insert(0, sys.argv[1]); from inside.keeper import main; main(int(sys.argv[2]))"
_OPEN_S: Final = 20.0
_TMP: Final = "/tmp"  # noqa: S108 - a folder of the box
_FONTS: Final = "matplotlib-cache"
_FEW_BYTES, _FEW_FILES = 1 << 20, 64
_THREADS: Final = 4
_SIGNALS: Final = 1024
# How long a "no" holds: what is missing may be installed while the product runs.
_NO_HOLDS_S: Final = 60.0


class LocalSandbox:
    """`libraries`: where `deploy/bootstrap.py` put what programs can import. `runtime`: a private folder."""

    name = "local"

    def __init__(self, *, libraries: Path, runtime: Path) -> None:
        self._libraries = libraries
        self._folder = runtime
        self._house: _House | None = None
        self._turn = asyncio.Lock()
        self._why_not: tuple[str, float] | None = None

    async def why_not(self) -> str:
        async with self._turn:
            now = time.monotonic()
            if self._why_not is None or (self._why_not[0] and now - self._why_not[1] > _NO_HOLDS_S):
                self._why_not = (await selftest.what_fails(self._open), now)
            return self._why_not[0]

    async def open(self, spec: BoxSpec) -> Box:
        fault = await self.why_not()
        if fault:
            raise SandboxError(fault)
        return await self._open(spec)

    async def _open(self, spec: BoxSpec) -> Box:
        if self._house is None:
            self._house = await asyncio.to_thread(_prepared, self._libraries)
        house = self._house
        seen = {**house.seen, **{path: await house.readable(folder) for path, folder in spec.read_only.items()}}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                launched = bubblewrap.launch(
                    house.bwrap,
                    identity=house.identity,
                    archive=house.runtime.archive,
                    keeper=[house.runtime.python, "-I", "-S", "-B", "-c", _START, bubblewrap.ARCHIVE],
                    seen=seen,
                    channel=theirs,
                )
            except OSError as fault:
                ours.close()
                raise SandboxError(f"a sandbox could not be started: {fault}") from None
        channel = Channel(ours)
        try:
            listeners = await _made_ready(channel, launched, _settings(spec, house))
        except BaseException:
            channel.close()
            launched.gone_soon()
            await launched.gone()
            raise
        return LocalBox(spec, launched, channel, environment=house.environment, listeners=listeners)


@dataclass(frozen=True, slots=True)
class _House:
    """What all boxes share; found out once."""

    bwrap: str
    identity: Identity
    runtime: Runtime
    seen: dict[str, Path]
    links: dict[str, str]
    environment: dict[str, str]
    filter: bytes

    async def readable(self, folder: Path) -> Path:
        try:
            return await asyncio.to_thread(readable, folder, by=self.identity)
        except OSError as fault:
            raise SandboxError(f"{folder} cannot be shown in a sandbox: {fault}") from None


def _prepared(libraries: Path) -> _House:
    """Raises SandboxError."""
    bwrap = bubblewrap.executable()
    if bwrap is None:
        raise SandboxError(selftest.missing_program())
    if platform.machine() not in MACHINES:
        raise SandboxError(
            f"the local sandbox does not know the system calls of {platform.machine()}; it runs on"
            f" {' and '.join(MACHINES)}: set SANDBOX_PROVIDER to another"
        )
    identity = Identity.found()
    try:
        runtime = found(libraries)
        seen = {}
        if runtime.folder is not None:
            seen[RUNTIME] = readable(runtime.folder, by=identity)
        if runtime.packages is not None:
            seen[PACKAGES] = readable(runtime.packages, by=identity)
    except (NoPython, OSError) as fault:
        raise SandboxError(f"the sandbox is off: {fault}") from None
    return _House(
        bwrap=bwrap,
        identity=identity,
        runtime=runtime,
        seen=seen,
        links=_links(runtime),
        environment=_environment(runtime),
        filter=filter_for(platform.machine()),
    )


def _links(runtime: Runtime) -> dict[str, str]:
    """What npm looks for in the home folder; and the list of fonts, which takes matplotlib seconds to make."""
    own = {f"{HOME}/.npmrc": "/etc/npmrc"}
    if runtime.packages is None or not (runtime.packages / _FONTS).is_dir():
        return own
    names = [path.name for path in (runtime.packages / _FONTS).glob("fontlist-*.json")]
    return own | {f"{HOME}/.cache/matplotlib/{name}": f"{PACKAGES}/{_FONTS}/{name}" for name in names}


def _environment(runtime: Runtime) -> dict[str, str]:
    """All that programs are told, and nothing of the product's own."""
    threads = str(min(_THREADS, os.cpu_count() or 1))
    own = [f"{RUNTIME}/bin"] if runtime.folder is not None else []
    return {
        "PATH": ":".join([*own, "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "TMPDIR": _TMP,
        "PYTHONPATH": PACKAGES,
        "PYTHONDONTWRITEBYTECODE": "1",
        # One thread for each core of a large machine would not fit into the number of processes.
        "OPENBLAS_NUM_THREADS": threads,
        "OMP_NUM_THREADS": threads,
    }


def _settings(spec: BoxSpec, house: _House) -> dict[str, Any]:
    limits = spec.limits
    folders = [
        (HOME, limits.home_bytes, limits.files, 0o755),
        (_TMP, limits.tmp_bytes, limits.files, 0o1777),
        ("/dev/shm", limits.tmp_bytes, _FEW_FILES * 16, 0o1777),  # noqa: S108 - a folder of the box
        (DOORS, _FEW_BYTES, _FEW_FILES, 0o755),
    ]
    return {
        "folders": folders,
        "writable": [HOME, _TMP],
        "empty": [OUTPUTS],
        "memory_bytes": limits.memory_bytes,
        "limits": _rlimits(limits),
        "doors": list(spec.doors),
        "relays": list(spec.relays),
        "links": house.links,
        "filter": house.filter,
    }


def _rlimits(limits: Limits) -> dict[int, int]:
    wanted = {
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: _SIGNALS,
    }
    if limits.address_bytes is not None:
        wanted[resource.RLIMIT_AS] = limits.address_bytes
    return wanted


async def _made_ready(channel: Channel, launched: bubblewrap.Launched, settings: dict[str, Any]) -> list[int]:
    """The listening sockets of its doors. Raises SandboxError with what bubblewrap or the keeper said."""
    try:
        async with asyncio.timeout(_OPEN_S):
            await channel.send(settings)
            answer = await channel.receive()
    except (OSError, TimeoutError):
        answer = None
    if answer is not None and answer[0].kind == "ready":
        return answer[1]
    if answer is not None:
        raise SandboxError(f"a sandbox could not be opened: {answer[0].text}")
    raise SandboxError(selftest.why_not_opened(launched.complaint()))
