"""Under which name something is put beside what lies there, so that nothing is replaced by it."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import PurePosixPath
from uuid import UUID

from agents.runtime.driven import About
from agents.tools.providers import Workspace
from agents.tools.values import StoredFile


def names_like(path: str) -> Iterator[str]:
    """The path itself, then `sales-2.csv`, `sales-3.csv` and so on. Without an end."""
    yield path
    plain = PurePosixPath(path)
    for number in count(2):
        yield str(plain.with_name(f"{plain.stem}-{number}{plain.suffix}"))


async def put_beside(
    workspace: Workspace, about: About, path: str, content: bytes, *, by: str, only_over: Sequence[UUID] = ()
) -> StoredFile:
    """Into the conversation, under the first such name that is free, that has these very bytes already, or where the
    file that stands there was written by one of the runs `only_over`."""
    for name in names_like(path):
        is_mine = only_over and not await workspace.stood_before(about, name, scope="conversation", runs=only_over)
        if is_mine or await _is_free_for(workspace, about, name, content):
            return await workspace.write_bytes(about, name, content, by=by)
    raise AssertionError("names have no end")


async def free_name(workspace: Workspace, about: About, path: str, content: bytes) -> str:
    """The first such name of the conversation that is free, or that has these very bytes already."""
    for name in names_like(path):
        if await _is_free_for(workspace, about, name, content):
            return name
    raise AssertionError("names have no end")


async def _is_free_for(workspace: Workspace, about: About, name: str, content: bytes) -> bool:
    there = await workspace.list_files(about, scope="conversation", prefix=name)
    file = next((one for one in there if one.path == name), None)
    return file is None or (file.size_bytes == len(content) and await workspace.read_bytes(about, name) == content)
