"""What a project begins with: a folder of files for each kind of app, and how its server is started."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents.apps import packages
from agents.sandbox.base import APP, HOME
from agents.tools.tool import ToolError

PORT: Final = 5173
FOLDER: Final = APP.removeprefix(f"{HOME}/")
"""Of the project, in the workspace."""
_STARTERS: Final = Path(__file__).parent / "starters"


@dataclass(frozen=True, slots=True)
class Starter:
    """`install`: packages of npm that it needs and an administrator installs; empty where it runs as it is."""

    name: str
    description: str
    command: str
    install: tuple[str, ...] = ()

    def files(self) -> dict[str, bytes]:
        """By their paths in the project."""
        folder = _STARTERS / self.name
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


_STATIC: Final = "python3 -u -m http.server $PORT --bind 127.0.0.1"
# Turbopack compiles nothing that lies above the project; and each WebAssembly would map as much as a box may in all.
_NEXT: Final = "NODE_OPTIONS=--disable-wasm-trap-handler npx next dev --webpack -H 127.0.0.1 -p $PORT"
STARTERS: Final[Mapping[str, Starter]] = {
    starter.name: starter
    for starter in (
        Starter("static", "Plain HTML, CSS and JavaScript", _STATIC),
        Starter("react", "React 18 with htm instead of JSX: no build, no installation", _STATIC),
        Starter("vue", "Vue 3 from its browser build: no build, no installation", _STATIC),
        Starter("flask", "Python: Flask with templates", "python3 -u -m flask --app app run --port $PORT"),
        Starter("fastapi", "Python: FastAPI with a page", "python3 -u -m uvicorn app:app --port $PORT"),
        Starter("node", "Node.js with its own http module: no installation", "node server.js"),
        Starter("express", "Node.js with Express", "node server.js", install=("express",)),
        Starter("nextjs", "Next.js", _NEXT, install=("next", "react", "react-dom")),
    )
}


def offered() -> tuple[Starter, ...]:
    """Those that run here: what they need beside a box is installed."""
    there = packages.installed()
    return tuple(starter for starter in STARTERS.values() if all(name in there for name in starter.install))


def in_workspace(path: str) -> str:
    """Where a file of the project lies. `path`: from the project's folder on, in which there may be another `app`."""
    bare = path.strip().removeprefix(f"{APP}/").removeprefix("./")
    if not bare or bare.startswith("/"):
        raise ToolError(f"{path} is not in the project. Give a path from its folder on, such as index.html.")
    return f"{FOLDER}/{bare}"
