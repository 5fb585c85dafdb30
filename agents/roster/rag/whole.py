"""Documents as a whole: which of them a task is about, and their pages in their order. Asks no model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from agents.craft.exchange import AttachmentKind, Options
from agents.runtime.context import AgentContext
from agents.tools.values import Chunk, ChunkMetadata, DocumentList, DocumentText
from hyperagent.lib.clipping import beginning

MOST_CHARS: Final = 100_000
MOST_PAGES: Final = 100
"""Of one document; each is a source of the answer."""
MOST_DOCUMENTS: Final = 3
_NEAREST: Final = 3
_LISTED: Final = 5
_ASKS: Final = re.compile(
    r"\b(?:summar(?:y|i[sz]e)|sum\s+up|tl;?dr|translat(?:e|ion)|proofread|zusammenfass\w*|fass\w*\b.{0,80}\bzusammen|"
    r"übersetz\w*|lies\b.{0,80}\bkorrektur)\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Whole:
    """A document from its first page on. `pages`: those with a text. `read`: how many of its `total` pages were read;
    `is_cut`: whether not all that stands on those was."""

    pages: tuple[Chunk, ...]
    read: int
    total: int
    is_cut: bool

    @property
    def is_all(self) -> bool:
        return self.read >= self.total and not self.is_cut


def asks_for_whole(task: str) -> bool:
    """By its words, where no model says so."""
    return _ASKS.search(task[:1_000]) is not None


async def meant(context: AgentContext, options: Options, filename: str) -> tuple[str, ...]:
    """Ids of the few documents that were attached or chosen, or of the one that is called so. Empty where that does not
    tell which are meant."""
    chosen = _chosen(options)
    if chosen:
        known = options.attached or ()
        called = tuple(one.id for one in known if one.id in chosen and _has_name(one.name, filename))
        few = called or chosen
        return few if len(few) <= MOST_DOCUMENTS else ()
    if not filename.strip():
        return ()
    reply = await context.tool("list_documents", {"name_contains": filename.strip(), "limit": _LISTED})
    if reply.is_error:
        return ()
    found = DocumentList.model_validate(reply.data).documents
    exact = [one for one in found if _is_called(one.filename, filename)]
    exact.sort(key=lambda one: not one.is_own)
    one = exact[0] if exact else found[0] if len(found) == 1 else None
    return (one.doc_id,) if one is not None else ()


def only_one(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """The id of the document that all of the best passages are from; empty, if they are from several."""
    ids = {chunk.doc_id for chunk in chunks[:_NEAREST]}
    one = ids.pop() if len(ids) == 1 else None
    return (one,) if one else ()


async def read_whole(context: AgentContext, ids: Sequence[str], *, most_chars: int) -> tuple[Whole, ...]:
    """One after the other; those of which nothing can be read are left out."""
    found: list[Whole] = []
    room = most_chars
    for place, document_id in enumerate(ids):
        one = await _read(context, document_id, room=room // (len(ids) - place))
        room -= sum(len(page.text) for page in one.pages)
        found += [one] if one.pages else []
    return tuple(found)


async def _read(context: AgentContext, document_id: str, *, room: int) -> Whole:
    pages: list[Chunk] = []
    read, total, is_cut = 0, 1, False
    while read < min(total, MOST_PAGES) and room > 0:
        reply = await context.tool("read_document", {"document_id": document_id, "first_page": read + 1})
        if reply.is_error:
            break
        part = DocumentText.model_validate(reply.data)
        total, is_cut = part.total_pages, is_cut or not part.page_ends
        for number, text in part.pages()[: MOST_PAGES - read]:
            pages.append(_page(part, number, beginning(text, room)))
            read, room, is_cut = number, room - len(text), is_cut or len(text) > room
            if room <= 0:
                break
    return Whole(tuple(page for page in pages if page.text.strip()), read, total, is_cut)


def _page(part: DocumentText, number: int, text: str) -> Chunk:
    at = ChunkMetadata(filename=part.filename, page=number, last_page=number)
    return Chunk(chunk_id="", score=1.0, text=text, metadata=at, doc_id=part.doc_id)


def _chosen(options: Options) -> tuple[str, ...]:
    if options.attached is not None:
        return tuple(one.id for one in options.attached if one.kind is AttachmentKind.DOCUMENT)
    given = dict.fromkeys((*options.attachment_ids, *options.document_ids))
    return tuple(one for one in given if one not in options.image_attachments)


def _has_name(name: str, part: str) -> bool:
    return bool(part.strip()) and part.strip().casefold() in name.casefold()


def _is_called(name: str, wanted: str) -> bool:
    return wanted.strip().casefold() in (name.casefold(), PurePath(name).stem.casefold())
