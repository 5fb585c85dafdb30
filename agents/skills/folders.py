"""Which skills there are, by their folders. Loads none of them: most processes only want to know."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from agents import skills


@cache
def names() -> frozenset[str]:
    """The ids of all skills."""
    return frozenset(id_of(folder) for folder in folders(skills))


def folders(where: ModuleType) -> Iterator[Path]:
    """Of the skills in a package, in order."""
    for folder in sorted(Path(where.__path__[0]).iterdir()):
        if folder.is_dir() and not folder.name.startswith(("_", ".")) and any(folder.glob("*.*")):
            yield folder


def id_of(folder: Path) -> str:
    return folder.name.replace("-", "_")
