"""Under which name something is put beside what lies there, so that nothing is replaced by it."""

from collections.abc import Iterator
from itertools import count
from pathlib import PurePosixPath

from agents.runtime.driven import About
from agents.tools.providers import Workspace
from agents.tools.values import StoredFile


def names_like(path: str) -> Iterator[str]:
    """The path itself, then `sales-2.csv`, `sales-3.csv` and so on. Without an end."""
    yield path
    plain = PurePosixPath(path)
    for number in count(2):
        yield str(plain.with_name(f"{plain.stem}-{number}{plain.suffix}"))


async def put_beside(workspace: Workspace, about: About, path: str, content: bytes, *, by: str) -> StoredFile:
    """Into the conversation, under the first such name that is free, or that has these very bytes already."""
    for name in names_like(path):
        there = await workspace.list_files(about, scope="conversation", prefix=name)
        file = next((one for one in there if one.path == name), None)
        if file is None or (file.size_bytes == len(content) and await workspace.read_bytes(about, name) == content):
            return await workspace.write_bytes(about, name, content, by=by)
    raise AssertionError("names have no end")
