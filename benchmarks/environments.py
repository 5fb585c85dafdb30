"""The environments of the peers: each has its own, with pinned packages, made when it is first needed.

They are kept below DATA_DIR; the project's own environment is never touched. Starts no peer.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
HERE: Final = ROOT / "benchmarks" / "peers"
INSTALL_TIMEOUT_S: Final = 600
_MADE_OF: Final = "made-of.txt"


class Use(StrEnum):
    """What is done about a peer's environment. `make`: it is made where it is missing; `made`: used where it is there;
    `none`: no peer is started."""

    MAKE = "make"
    MADE = "made"
    NONE = "none"


class NoEnvironment(Exception):
    """A peer cannot be measured; the message says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Peer:
    """`keeps`: its state is in a database of its own in the stand's Postgres, whose cost is the peer's, too."""

    name: str
    keeps: bool = False

    @property
    def app(self) -> Path:
        return HERE / f"{self.name.replace('-', '_')}_app.py"

    @property
    def requirements(self) -> Path:
        return HERE / f"requirements-{self.name}.txt"


LANGGRAPH: Final = Peer("langgraph", keeps=True)
PEERS: Final = (LANGGRAPH, Peer("openai-agents"), Peer("pydantic-ai"))


def folder_of(peer: Peer, kept: Path | None = None) -> Path:
    """Of its environment. `kept`: where the installation keeps what is its own; DATA_DIR, if it is not given."""
    return (kept or ROOT / os.environ.get("DATA_DIR", "var")) / "bench" / "peers" / peer.name


def is_made(peer: Peer, kept: Path | None = None) -> bool:
    """Whether its environment is there, with the packages that are wanted now."""
    made_of = folder_of(peer, kept) / _MADE_OF
    return made_of.exists() and made_of.read_text() == peer.requirements.read_text()


def python_of(peer: Peer, use: Use, *, say: Callable[[str], None] = lambda text: None) -> Path:
    """The peer's interpreter. Makes its environment if `use` says so; raises NoEnvironment where there is none."""
    if use is Use.NONE:
        raise NoEnvironment(f"{peer.name} is left out, as was asked for.")
    if not is_made(peer):
        if use is Use.MADE:
            raise NoEnvironment(f"{peer.name} is left out: it has no environment yet; `make bench` makes it.")
        say(f"makes an environment for {peer.name} in {folder_of(peer)}")
        _make(peer)
    return _interpreter(folder_of(peer))


def _make(peer: Peer) -> None:
    """The mark is written last: what was interrupted is made anew."""
    folder = folder_of(peer)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=_uv() is None)
    try:
        done = subprocess.run(
            _install_command(peer), capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise NoEnvironment(_failed(peer, f"nothing came within {INSTALL_TIMEOUT_S} s")) from error
    if done.returncode != 0:
        raise NoEnvironment(_failed(peer, "\n".join(done.stderr.strip().splitlines()[-5:])))
    (folder / _MADE_OF).write_text(peer.requirements.read_text())


def _failed(peer: Peer, why: str) -> str:
    return (
        f"{peer.name} is left out: its packages could not be installed, as when no package registry is reached. "
        f"Install {peer.requirements.relative_to(ROOT)} where one is, or go on without. Its installer said:\n{why}"
    )


def _install_command(peer: Peer) -> tuple[str, ...]:
    interpreter, uv = str(_interpreter(folder_of(peer))), _uv()
    wanted = ("-r", str(peer.requirements))
    if uv is not None:
        return (uv, "pip", "install", "--quiet", "--python", interpreter, *wanted)
    return (interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)


def _uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def _interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"
