"""The files that a task of programs is about, in the working folder of the sandbox: the originals of documents that
were attached or are named, and what lies in the conversation's workspace.

Where they cannot be had as files, the text of the documents is all that there is.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from agents.craft.exchange import AgentInput
from agents.craft.middleware.workspace import names_in
from agents.craft.programming import given_in
from agents.runtime.context import AgentContext

MOST_DOCUMENTS: Final = 10
MOST_NAMED: Final = 3
MOST_LYING: Final = 20
MOST_READ: Final = 4
READ_BYTES: Final = 2_000_000
_TABLES: Final = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".xls", ".ods", ".parquet", ".txt", ".xml", ".yaml")
_TEXTS: Final = (".csv", ".tsv", ".json", ".jsonl", ".txt", ".md")


@dataclass(frozen=True, slots=True)
class Given:
    """A file by its name in the working folder. `text`: its beginning, as far as it is text. `is_there`: whether the
    folder has it, or its text is yet to be put there. `instead_of`: what the document is called, where another file
    has that name."""

    name: str
    text: str = ""
    is_there: bool = True
    instead_of: str = ""


async def given_files(context: AgentContext, task: AgentInput, *, as_files: bool) -> tuple[Given, ...]:
    """`as_files`: whether programs can be run on them."""
    chosen = tuple(dict.fromkeys((*task.options.attachment_ids, *task.options.document_ids)))[:MOST_DOCUMENTS]
    if not as_files or await _lacks_files(context):
        readable = [one for one in chosen if one not in task.options.image_attachments]
        texts = [await _text(context, document_id) for document_id in readable]
        return tuple(_as_text(context, place, *text) for place, text in enumerate(texts, start=1) if text is not None)
    pictures = task.options.image_attachments
    found = [await _original(context, one, at, has_text=one not in pictures) for at, one in enumerate(chosen, start=1)]
    given = [one for one in found if one is not None]
    files = await _workspace_files(context)
    lying = await _lying_there(context, files, {one.name for one in given})
    named = await _named(context, task, files, {one.name for one in (*given, *lying)})
    return (*given, *named, *lying)


def told_renamed(files: Sequence[Given]) -> str:
    """For the prompt: which documents lie there by another name than their own."""
    lines = [f"`{one.name}` is the document `{one.instead_of}`." for one in files if one.instead_of]
    return "\n".join(["", *lines, "The files that have these names are others."]) if lines else ""


async def _lacks_files(context: AgentContext) -> bool:
    door = context.run.tools
    if door is None:
        return True
    return bool(await context.note("files_lack", lambda: door.lacks(("documents", "workspace"))))


async def _original(context: AgentContext, document_id: str, place: int, *, has_text: bool = True) -> Given | None:
    """The file itself; its text where it cannot be had."""
    reply = await context.tool("use_document", {"document_id": document_id})
    if reply.is_error or not isinstance(reply.data, dict):
        text = await _text(context, document_id) if has_text else None
        return None if text is None else _as_text(context, place, *text)
    beginning = str(reply.data.get("text") or "")
    if not beginning and has_text and (read := await _text(context, document_id)):
        beginning = read[1]
    return Given(str(reply.data["path"]), beginning, instead_of=str(reply.data.get("instead_of") or ""))


async def _text(context: AgentContext, document_id: str) -> tuple[str, str] | None:
    """Name and text of a document; None for one that cannot be read, as its tool call shows."""
    reply = await context.tool("read_document", {"document_id": document_id})
    if reply.is_error or not isinstance(reply.data, dict) or not reply.data.get("text"):
        return None
    return str(reply.data.get("filename") or f"{document_id}.txt"), str(reply.data["text"])


def _as_text(context: AgentContext, place: int, filename: str, text: str) -> Given:
    name = re.sub(r"[^\w.-]+", "_", filename.rsplit("/", 1)[-1]).strip("._")[-80:] or "document.txt"
    return Given(f"{given_in(context)}/{place}_{name}", text, is_there=False)


async def _named(
    context: AgentContext, task: AgentInput, files: Sequence[dict[str, Any]], known: Collection[str]
) -> list[Given]:
    """What the task names and nobody attached: a file of the conversation, else a document of that name, one of the
    person's own before those that others share with them."""
    found: list[Given] = []
    there = {PurePosixPath(one).name.casefold() for one in known}
    for name in names_in(task.task)[:MOST_NAMED]:
        last = PurePosixPath(name).name
        if last.casefold() in there:
            continue
        there.add(last.casefold())
        own = [file for file in files if _is_called(str(file["path"]), last)]
        if own:
            found += [Given(str(file["path"]), await _beginning(context, file)) for file in own[:MOST_NAMED]]
            continue
        reply = await context.tool("list_documents", {"name_contains": last, "limit": 5})
        called = [one for one in _listed(reply.data, "documents") if _is_called(str(one.get("filename", "")), last)]
        for document in sorted(called, key=lambda one: not one.get("is_own", True))[:1]:
            given = await _original(context, str(document["doc_id"]), len(found) + 1)
            found += [given] if given else []
    return found


def _is_called(path: str, last: str) -> bool:
    return PurePosixPath(path).name.casefold() == last.casefold()


async def _workspace_files(context: AgentContext) -> list[dict[str, Any]]:
    reply = await context.tool("list_files", {})
    return [] if reply.is_error else _listed(reply.data, "files")


async def _lying_there(context: AgentContext, files: Sequence[dict[str, Any]], known: Collection[str]) -> list[Given]:
    """What earlier turns and the person put into the workspace. Of the first few the beginning is read."""
    tables = [one for one in files if _is_table(one) and one["path"] not in known][:MOST_LYING]
    return [
        Given(str(file["path"]), await _beginning(context, file) if place < MOST_READ else "")
        for place, file in enumerate(tables)
    ]


async def _beginning(context: AgentContext, file: dict[str, Any]) -> str:
    """Of a text that is not too long; empty for anything else."""
    path = str(file["path"])
    if not path.lower().endswith(_TEXTS) or int(file.get("size_bytes", 0)) > READ_BYTES:
        return ""
    read = await context.tool("read_file", {"path": path})
    return str(read.data.get("text") or "") if not read.is_error and isinstance(read.data, dict) else ""


def _is_table(file: dict[str, Any]) -> bool:
    return str(file.get("path", "")).lower().endswith(_TABLES)


def _listed(value: Any, name: str) -> list[dict[str, Any]]:
    rows = value.get(name, []) if isinstance(value, dict) else value
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
