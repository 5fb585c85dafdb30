"""What a sandbox is: a box that programs run in, and what is asked of whoever provides boxes (S201, S202).

Knows no provider, no table and no tool. Paths inside are absolute POSIX paths; HOME is the working folder.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, Protocol

HOME: Final = "/home/user"
OUTPUTS: Final = "/tmp/outputs"  # noqa: S108 (inside of the box)
"""There from the start of each box."""
APP: Final = "/home/user/app"
DOORS: Final = "/run/hyperagent"
"""Where the sockets of `BoxSpec.doors` are seen inside, as `<name>.sock`."""
WITHOUT_NETWORK: Final[Mapping[str, str]] = {
    "npm_config_offline": "true",
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
    # pip shows where it looks, and tells its reason with a retry only; that the box is another's to manage is none.
    "PIP_INDEX_URL": "http://the-sandbox-has-no-network.invalid/simple",
    "PIP_RETRIES": "1",
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "NEXT_TELEMETRY_DISABLED": "1",
}
"""Told to programs of boxes that are images of others: who asks for what lies outside is refused at once, and does not
try for minutes. The local boxes say the same in files (`agents.sandbox.local.bubblewrap`)."""

Stream = Literal["stdout", "stderr"]
Heard = Callable[[Stream, str], None]
"""Told of output as it comes, whole characters only. It must not wait; what it raises is a fault of ours."""


class BoxType(StrEnum):
    CODE = "code"
    DESKTOP = "desktop"
    APP = "app"


class Ending(StrEnum):
    """How a program ended. `LOST`: the box itself went away with it."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    TOO_MUCH_OUTPUT = "too_much_output"
    STOPPED = "stopped"
    LOST = "lost"


class SandboxError(Exception):
    """The box could not do it; `message` is a sentence for a model or a person, with the way out."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BoxGone(SandboxError):
    """The box does not live any more: what it held is lost, a new one can be opened."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one box. `memory_bytes`: all of its programs together, with what lies in its folders (they are memory).
    `address_bytes`: of one program, what it may map; None for those that map far more than they use, such as browsers.
    `kept_output_bytes`: of each stream, what is kept; `most_output_bytes`: of both, where the program is killed."""

    memory_bytes: int = 1 << 30
    processes: int = 128
    home_bytes: int = 512 << 20
    tmp_bytes: int = 256 << 20
    file_bytes: int = 256 << 20
    files: int = 20_000
    open_files: int = 512
    address_bytes: int | None = 32 << 30
    kept_output_bytes: int = 256 << 10
    most_output_bytes: int = 2 << 20


@dataclass(frozen=True, slots=True)
class BoxSpec:
    """What box is wanted.

    `key`: names it, for logs.  `doors`: sockets of the host (Unix) that programs inside may connect to, by name.
    `relays`: ports of the inner loopback that lead to a door, such as a proxy's.  `read_only`: folders of the host seen
    inside at these paths. Only what is named here leads out of the box, and nothing at all leads into it but `connect`.
    """

    key: str
    box_type: BoxType = BoxType.CODE
    limits: Limits = field(default_factory=Limits)
    doors: Mapping[str, Path] = field(default_factory=dict)
    relays: Mapping[int, str] = field(default_factory=dict)
    read_only: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """`env` comes on top of the box's own few variables. `cwd` is made if it is not there. Standard input is empty."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = HOME
    wall_s: float = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """`exit_code` is None where the program was stopped before it ended; `note` then says why, for model and people.
    Output is text: what is no UTF-8 is replaced; what was cut says so at its end."""

    ending: Ending
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    note: str = ""
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class BoxFile:
    """A regular file. `changed_ns`: of its last change, by the box's own clock: compare only with others of the box."""

    path: str
    size_bytes: int
    changed_ns: int


class Box(Protocol):
    """One living box. Everything in it lasts until it is closed. Safe for several callers at once.

    All of these raise BoxGone where it has ended, and SandboxError for what cannot be done.
    """

    key: str
    box_type: BoxType

    @property
    def alive(self) -> bool: ...

    async def run(self, command: Command, *, heard: Heard | None = None) -> Outcome:
        """Runs a program to its end. It and all that it started are gone when this returns, or is cancelled; what
        `start` started stays."""

    async def start(self, command: Command, *, heard: Heard | None = None) -> str:
        """Starts a program that stays, such as a server; gives its id."""

    async def stop(self, started: str) -> None:
        """Ends what `start` started, with its children. Nothing if it has ended."""

    async def running(self, started: str) -> bool: ...

    async def connect(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to what listens at this port of the box's own loopback. Raises SandboxError if nothing does."""

    async def write(self, path: str, content: bytes) -> BoxFile:
        """Makes the folders above it. A link in the way is refused, never followed out of the writable folders."""

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        """A regular file; one that is larger is refused with its size."""

    async def files(self, folder: str = HOME) -> tuple[BoxFile, ...]:
        """The regular files below it, by path; links, pipes and devices are left out, names are as they are."""

    async def pack(self, folders: Sequence[str], *, max_bytes: int) -> bytes:
        """A tar of the regular files below these folders, their paths absolute without the first slash. More than
        `max_bytes` is refused."""

    async def unpack(self, archive: bytes) -> None:
        """Puts back what `pack` gave: regular files and folders below the writable folders only, everything else in it
        is left out."""

    async def close(self) -> None:
        """Ends it and everything in it. Again: nothing."""


class SandboxProvider(Protocol):
    """Whoever provides boxes."""

    name: str

    async def why_not(self) -> str:
        """Why no box can be had here, a sentence for people with the way out; empty if it works. Tried, not assumed."""

    async def open(self, spec: BoxSpec) -> Box:
        """Raises SandboxError."""
