"""The files that a task of programs is about, in the working folder of the sandbox: the originals of documents that
were attached or are named, and what lies in the conversation's workspace.

Where they cannot be had as files, the text of the documents is all that there is.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from agents.exchange import AgentInput
from agents.middleware.workspace import names_in
from agents.programming import GIVEN
from agents.runtime.context import AgentContext

MOST_DOCUMENTS: Final = 10
MOST_NAMED: Final = 3
MOST_LYING: Final = 20
MOST_READ: Final = 4
READ_BYTES: Final = 2_000_000
_TABLES: Final = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".xls", ".ods", ".parquet", ".txt", ".xml", ".yaml")
_TEXTS: Final = (".csv", ".tsv", ".json", ".jsonl", ".txt")


@dataclass(frozen=True, slots=True)
class Given:
    """A file by its name in the working folder. `text`: its beginning, as far as it is text. `is_there`: whether the
    folder has it, or its text is yet to be put there."""

    name: str
    text: str = ""
    is_there: bool = True


async def given_files(context: AgentContext, task: AgentInput, *, as_files: bool) -> tuple[Given, ...]:
    """`as_files`: whether programs can be run on them."""
    chosen = tuple(dict.fromkeys((*task.options.attachment_ids, *task.options.document_ids)))[:MOST_DOCUMENTS]
    if not as_files or await _lacks_files(context):
        readable = [one for one in chosen if one not in task.options.image_attachments]
        texts = [await _text(context, document_id) for document_id in readable]
        return tuple(_as_text(place, *text) for place, text in enumerate(texts, start=1) if text is not None)
    pictures = task.options.image_attachments
    found = [await _original(context, one, at, has_text=one not in pictures) for at, one in enumerate(chosen, start=1)]
    given = [one for one in found if one is not None]
    lying = await _lying_there(context, {one.name for one in given})
    named = await _named(context, task, {one.name for one in (*given, *lying)})
    return (*given, *named, *lying)


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
        return None if text is None else _as_text(place, *text)
    beginning = str(reply.data.get("text") or "")
    if not beginning and has_text and (read := await _text(context, document_id)):
        beginning = read[1]
    return Given(str(reply.data["path"]), beginning)


async def _text(context: AgentContext, document_id: str) -> tuple[str, str] | None:
    """Name and text of a document; None for one that cannot be read, as its tool call shows."""
    reply = await context.tool("read_document", {"document_id": document_id})
    if reply.is_error or not isinstance(reply.data, dict) or not reply.data.get("text"):
        return None
    return str(reply.data.get("filename") or f"{document_id}.txt"), str(reply.data["text"])


def _as_text(place: int, filename: str, text: str) -> Given:
    name = re.sub(r"[^\w.-]+", "_", filename.rsplit("/", 1)[-1]).strip("._")[-80:] or "document.txt"
    return Given(f"{GIVEN}/{place}_{name}", text, is_there=False)


async def _named(context: AgentContext, task: AgentInput, known: Collection[str]) -> list[Given]:
    """Documents that nobody attached, but whose file the task names."""
    found: list[Given] = []
    for name in names_in(task.task)[:MOST_NAMED]:
        last = PurePosixPath(name).name
        if last in {PurePosixPath(one).name for one in known}:
            continue
        reply = await context.tool("list_documents", {"name_contains": last, "limit": 5})
        for document in _listed(reply.data, "documents"):
            if str(document.get("filename", "")).casefold() == last.casefold():
                given = await _original(context, str(document["doc_id"]), len(found) + 1)
                found += [given] if given else []
                break
    return found


async def _lying_there(context: AgentContext, known: Collection[str]) -> list[Given]:
    """What earlier turns and the person put into the workspace. Of the first few the beginning is read."""
    reply = await context.tool("list_files", {})
    if reply.is_error:
        return []
    files = [one for one in _listed(reply.data, "files") if _is_table(one) and one["path"] not in known][:MOST_LYING]
    found = []
    for place, file in enumerate(files):
        path, text = str(file["path"]), ""
        if place < MOST_READ and path.lower().endswith(_TEXTS) and int(file.get("size_bytes", 0)) <= READ_BYTES:
            read = await context.tool("read_file", {"path": path})
            text = str(read.data.get("text") or "") if not read.is_error and isinstance(read.data, dict) else ""
        found.append(Given(path, text))
    return found


def _is_table(file: dict[str, Any]) -> bool:
    return str(file.get("path", "")).lower().endswith(_TABLES)


def _listed(value: Any, name: str) -> list[dict[str, Any]]:
    rows = value.get(name, []) if isinstance(value, dict) else value
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
