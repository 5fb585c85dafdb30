"""Under which name something is put beside what lies there, so that nothing is replaced by it."""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import PurePosixPath
from uuid import UUID

from agents.runtime.driven import About
from agents.tools.providers import FileChanged, Workspace
from agents.tools.values import StoredFile


def names_like(path: str) -> Iterator[str]:
    """The path itself, then `sales-2.csv`, `sales-3.csv` and so on, in the workspace's spelling. Without an end."""
    path = unicodedata.normalize("NFC", path)
    yield path
    plain = PurePosixPath(path)
    for number in count(2):
        yield str(plain.with_name(f"{plain.stem}-{number}{plain.suffix}"))


async def put_beside(
    workspace: Workspace,
    about: About,
    path: str,
    content: bytes,
    media_type: str = "",
    *,
    by: str = "",
    key: str = "",
    instead_of: str = "",
    only_over: Sequence[UUID] = (),
) -> StoredFile:
    """Into the conversation, under the first such name that is free or has these very bytes already, whoever else
    writes at this moment. Replaced is only the version of the path itself that has the mark `instead_of`, and what one
    of the runs `only_over` wrote."""
    names = names_like(path)
    name, mark = next(names), instead_of
    while True:
        there = await workspace.standing(about, name)
        may_be_replaced = (
            there is None
            or there.mark == mark
            or (only_over and not await workspace.stood_before(about, name, scope="conversation", runs=only_over))
            or await _has(workspace, about, there, content)
        )
        if not may_be_replaced:
            name, mark = next(names), ""
            continue
        try:
            expected = there.mark if there else ""
            return await workspace.write_bytes(
                about, name, content, media_type, scope="conversation", by=by, key=key, expected=expected
            )
        except FileChanged:
            # Somebody else was quicker: what stands there now is looked at.
            continue


async def free_name(workspace: Workspace, about: About, path: str, content: bytes) -> str:
    """The first such name of the conversation that is free, or that has these very bytes already."""
    for name in names_like(path):
        there = await workspace.standing(about, name)
        if there is None or await _has(workspace, about, there, content):
            return name
    raise AssertionError("names have no end")


async def _has(workspace: Workspace, about: About, file: StoredFile, content: bytes) -> bool:
    return file.size_bytes == len(content) and await workspace.read_bytes(about, file.path) == content
