"""The rag agent: finds passages in the person's documents, or reads the one that the task is about as a whole, and
answers from them, with sources."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from agents.craft.briefing import briefing, house_rules, short_briefing
from agents.craft.exchange import AgentInput, Work
from agents.craft.hearing import with_said
from agents.craft.passages import Passage, sources_of, told
from agents.craft.pictures import pictures_told
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import SMALL_CHARS, ask_small
from agents.craft.stages import stage
from agents.pipeline.citations import check, cited
from agents.roles.reranker import KEEP, Candidate, ranked
from agents.roster.rag import listing
from agents.roster.rag.answers import partly_read, unanswered, with_source
from agents.roster.rag.filters import filters_of
from agents.roster.rag.relevance import is_relevant, merged
from agents.roster.rag.whole import MOST_CHARS, Whole, asks_for_whole, meant, only_one, read_whole
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.spec import AgentSpec
from agents.tools.catalogue.document_tools import source_of
from agents.tools.values import Chunk, DocumentList, FoundChunks
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.types import Message, ModelReply, Role, Tier

SPEC = AgentSpec(
    name="rag",
    description="Finds passages in the person's own documents and answers from them, with file and page as sources.",
    capabilities=("document search", "questions about documents", "quoting figures", "citations"),
    typical_use_cases=(
        "What was our Q3 revenue, according to the quarterly report?",
        "How many nights may I book in a hotel by our travel policy?",
        "Which of my contracts end this year?",
        "What do my documents say about the warranty?",
        "Which documents do I have?",
    ),
    tools=("search_documents", "read_document", "list_documents", "analyze_image"),
    needs=("documents",),
    handoffs=False,
    temperature=0.1,
    data_fields=("chunks", "sources", "query"),
)

HERE = Path(__file__).parent
TOP_K: Final = 20
SMALL_KEEP: Final = 3
CHUNK_CHARS: Final = 5_000
ALL_CHUNKS_CHARS: Final = 36_000
# A small model takes whatever it is shown for the answer: what is far behind the best passage is not shown to it.
NEAR_BEST: Final = 0.6
# Where nothing that was found fits, the answer is that there is none: sure of itself, but of no use to others.
UNANSWERED: Final = 0.2

Fits = Callable[[AgentInput, str, FoundChunks], bool]
"""Whether what was found for these words has to do with the task."""


class Query(BaseModel):
    """One search of documents, what it is limited to, and the words for a second one. `whole`: what a search finds is
    not enough, the document itself is to be read."""

    query: str = Field(min_length=1, max_length=500)
    otherwise: str = Field(default="", max_length=500)
    doc_type: str = ""
    filename: str = ""
    topic: str = Field(default="", max_length=200, description="Words of the heading that it stands under, or empty")
    date_from: str = Field(default="", description="YYYY-MM-DD, or empty")
    date_to: str = Field(default="", description="YYYY-MM-DD, or empty")
    metric: str = ""
    names: list[str] = []
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """`widened`: nothing that fits was found under the filters, so they were dropped. `fits`: whether any of it has to
    do with the question. `unread`: documents that no search finds yet. `trouble`: why nothing was searched. `whole`:
    documents that were read from their first page on, in place of a search; `chunks` are their pages. `left_out`: how
    many could not be. `in_parts`: the task is about the whole, and these are passages all the same."""

    query: str
    chunks: tuple[Chunk, ...] = ()
    fits: bool = False
    widened: bool = False
    unread: int = 0
    trouble: str = ""
    code: str = ""
    whole: tuple[Whole, ...] = ()
    left_out: int = 0
    in_parts: bool = False

    @property
    def confidence(self) -> float:
        """The mean score of its passages (S173), 0..1; little, where none of them fits."""
        mean = _mean(self.chunks)
        return mean if self.fits else min(mean, UNANSWERED)

    def passages(self) -> list[Passage]:
        return [Passage(source_of(chunk), chunk.text) for chunk in self.chunks]


async def run(context: AgentContext, task: AgentInput) -> Work:
    if listing.asks_for_list(task.task):
        return await _listed(context, task)
    pictures = await pictures_told(context, task)
    with stage(context, "search", "Choosing what to look for in the documents"):
        query = await _query(context, task, pictures)
    found = await _read_or_found(context, task, query, fits=_fits, most_chars=MOST_CHARS)
    if found.trouble:
        return _in_vain(query, found)
    if not found.whole:
        found = replace(found, chunks=await _best(context, task, found))
    if not found.fits and not pictures and not found.chunks:
        return _unanswered(task, found)
    with stage(context, "synthesize", "Answering from what was found"):
        reply = await _answer(context, task, found, pictures)
    text = check(reply.text, len(sources_of(found.passages())))
    return _work(found, text, model=reply.model)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """It looks for the task as it was put, and the small model is shown only what surely has to do with that."""
    if listing.asks_for_list(task.task):
        return await _listed(context, task)
    with stage(context, "search", "Choosing what to look for in the documents"):
        query = Query(query=one_line(task.task)[:300] or "-", whole=asks_for_whole(task.task))
    found = await _read_or_found(context, task, query, fits=_surely_fits, most_chars=SMALL_CHARS)
    if found.trouble:
        return _in_vain(query, found)
    if not found.whole:
        found = replace(found, chunks=_nearest(found.chunks))
    if not found.fits:
        return _unanswered(task, found)
    with stage(context, "synthesize", "Answering from what was found"):
        reply = await _short_answer(context, task, found)
    text = check(with_source(reply.text, found.passages(), question=task.task), len(sources_of(found.passages())))
    missing = [partly_read(task.task, one.read, one.total) for one in found.whole if not one.is_all]
    return _work(found, "\n\n".join([text, *dict.fromkeys(missing)]), model=reply.model)


async def _query(context: AgentContext, task: AgentInput, pictures: str) -> Query:
    system = fill(read_prompt(HERE / "query.md"), rules=house_rules())
    user = briefing(task) + pictures
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=Tier.FLASH, messages=messages, temperature=0, keeps_temperature=True)
    return await context.structured(await with_said(context, request), Query, stage="search_agent")


async def _read_or_found(
    context: AgentContext, task: AgentInput, query: Query, *, fits: Fits, most_chars: int
) -> Found:
    """The documents that the task is about as a whole, up to `most_chars`; passages, where it is about none so, or
    nobody can tell which before a search, or after it."""
    if query.whole:
        ids = await meant(context, task.options, query.filename)
        read = await _whole(context, query, ids, most_chars=most_chars)
        if read is not None:
            return read
    with stage(context, "search", f"Searching the documents for: {query.query}"):
        found = await _found(context, task, query, fits=fits)
    if query.whole and found.fits:
        read = await _whole(context, query, only_one(found.chunks), most_chars=most_chars)
        if read is not None:
            return read
    return replace(found, in_parts=query.whole) if found.chunks else found


async def _whole(context: AgentContext, query: Query, ids: Sequence[str], *, most_chars: int) -> Found | None:
    """None where there is nothing to read."""
    if not ids:
        return None
    with stage(context, "read", "Reading the document from its first page on"):
        read = await read_whole(context, ids, most_chars=most_chars)
    if not read:
        return None
    chunks = tuple(page for one in read for page in one.pages)
    return Found(query.query, chunks, fits=True, whole=read, left_out=len(ids) - len(read))


async def _found(context: AgentContext, task: AgentInput, query: Query, *, fits: Fits) -> Found:
    """Under the filters; without the topic, if nothing under such a heading fits; without all of them, if nothing found
    so fits, and elsewhere something does; once more in other words, if nothing of it fits."""
    filters = filters_of(task.entities, query.model_dump(mode="json", include=set(_FILTERS)))
    words = _words(query)
    reply = await _search(context, task, words, filters)
    if "section_title" in filters and not reply.is_error and not fits(task, words, _in(reply)):
        del filters["section_title"]
        reply = await _search(context, task, words, filters)
    widened = False
    if filters and not reply.is_error and not fits(task, words, _in(reply)):
        anywhere = await _search(context, task, words, {})
        widened = not _in(reply).chunks or (not anywhere.is_error and fits(task, words, _in(anywhere)))
        reply = anywhere if widened else reply
    if reply.is_error:
        code = reply.data.get("error") if isinstance(reply.data, dict) else None
        return Found(words, trouble=reply.trouble, code=str(code or "search_failed"))
    chunks = _in(reply)
    if not fits(task, words, chunks) and query.otherwise.strip() and query.otherwise != query.query:
        again = await _search(context, task, query.otherwise, {})
        if not again.is_error:
            chunks = _together(chunks, _in(again))
    return Found(
        words,
        chunks.chunks[:TOP_K],
        fits=fits(task, f"{words} {query.otherwise}", chunks),
        widened=widened,
        unread=chunks.unread,
    )


_FILTERS: Final = ("doc_type", "filename", "topic", "date_from", "date_to")


async def _search(context: AgentContext, task: AgentInput, words: str, filters: dict[str, str]) -> ToolReply:
    arguments: dict[str, Any] = {"query": words, "top_k": TOP_K}
    if chosen := [one for one in task.options.document_ids if one not in task.options.image_attachments]:
        arguments["document_ids"] = chosen
    if filters:
        arguments["filters"] = filters
    return await context.tool("search_documents", arguments)


def _words(query: Query) -> str:
    """The query with names and metric, where it forgot them."""
    missing = [word for word in (*query.names, query.metric) if word and word.lower() not in query.query.lower()]
    return " ".join([query.query, *missing])[:500]


def _in(reply: ToolReply) -> FoundChunks:
    return FoundChunks.model_validate(reply.data) if reply.data else FoundChunks(query="")


def _together(first: FoundChunks, second: FoundChunks) -> FoundChunks:
    chunks = merged(first.chunks, second.chunks)
    return FoundChunks(query=first.query, chunks=chunks, confidence=_mean(chunks), unread=second.unread)


def _fits(task: AgentInput, words: str, found: FoundChunks) -> bool:
    """The task as the person put it counts as much as the words that were made of it."""
    return is_relevant(task.task, found) or is_relevant(words, found)


def _surely_fits(task: AgentInput, words: str, found: FoundChunks) -> bool:
    return is_relevant(task.task, found, strictly=True)


async def _best(context: AgentContext, task: AgentInput, found: Found) -> tuple[Chunk, ...]:
    """Of twenty the eight that a model finds best (S172); as the search has them, if there are no more, or it fails."""
    if len(found.chunks) <= KEEP:
        return found.chunks
    with stage(context, "rerank", "Choosing the best passages"):
        wanted = f"{task.task}\n(Looked for: {found.query})"
        order = await ranked(context, wanted, [candidate_of(chunk) for chunk in found.chunks], options=task.options)
    return tuple(found.chunks[place] for place in order)


def _nearest(chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Of the search's order the first three, as far as they are not far behind the first."""
    return tuple(chunk for chunk in chunks[:SMALL_KEEP] if chunk.score >= NEAR_BEST * chunks[0].score)


def candidate_of(chunk: Chunk) -> Candidate:
    at = chunk.metadata
    label = [at.filename, f"page {at.page}" if at.page else "", at.section_title or "", at.date or ""]
    return Candidate(", ".join(one_line(part) for part in label if part), chunk.text)


async def _answer(context: AgentContext, task: AgentInput, found: Found, pictures: str) -> ModelReply:
    """`pictures`: what those show that are attached beside the documents."""
    passages = found.passages()
    if found.whole:
        shown = told(passages, limit=MOST_CHARS, total=MOST_CHARS)
    else:
        shown = told(passages, limit=CHUNK_CHARS, total=ALL_CHUNKS_CHARS) or "Nothing was found in the documents."
    user = f"{briefing(task)}{pictures}\n\n## Sources{_caution(found)}\n{shown}"
    system = fill(read_prompt(HERE / "synthesize.md"), rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.model(await with_said(context, request), stage="synthesize", shown=task.speaks)


async def _short_answer(context: AgentContext, task: AgentInput, found: Found) -> ModelReply:
    few = told(found.passages(), limit=SMALL_CHARS if found.whole else SMALL_CHARS // SMALL_KEEP, total=SMALL_CHARS)
    user = f"{few}\n\nQuestion: {short_briefing(task, limit=400)}"
    system = read_prompt(HERE / "prompt_small.md")
    # Nobody reads along: what the passages do not say is not shown.
    quiet = task.model_copy(update={"speaks": False})
    return await ask_small(context, quiet, SPEC, system=system, user=user, stage="synthesize")


def _caution(found: Found) -> str:
    said = [*_as_pages(found.whole)]
    if found.left_out:
        said.append(f"Documents that the task is about, too, and that cannot be read: {found.left_out}. Say so.")
    if found.in_parts:
        said.append("The task is about documents as a whole; these are only passages that a search found. Say so.")
    if found.widened:
        said.append(
            "Nothing that fits was found within the period or kind of document that was asked for; these are from "
            "elsewhere."
        )
    if not found.fits:
        said.append("Little of this seems to be about the question: most likely the documents do not answer it.")
        if found.unread:
            said.append(
                f"Documents that are still being read, and were not searched: {found.unread}. Say so, if you say that "
                "the documents do not answer it."
            )
    return "".join(f"\n{sentence}" for sentence in said)


def _as_pages(whole: Sequence[Whole]) -> Iterator[str]:
    """Which of the sources are the pages of which document, and how many pages are missing. By numbers: others have
    given it its name."""
    first = 1
    for one in whole:
        last = first + len(one.pages) - 1
        span = f"[{first}] to [{last}]" if last > first else f"[{first}]"
        if one.is_all:
            yield f"{span}: all pages of one document, in their order."
        else:
            part = ", and of these not all of the text" if one.is_cut else ""
            yield f"{span}: of one document only pages 1 to {one.read} of {one.total} were read{part}. Say so."
        first = last + 1


async def _listed(context: AgentContext, task: AgentInput) -> Work:
    with stage(context, "search", "Looking up which documents there are"):
        reply = await context.tool("list_documents", {"limit": 50})
    nothing: dict[str, Any] = {"chunks": [], "sources": [], "query": ""}
    if reply.is_error:
        code = reply.data.get("error") if isinstance(reply.data, dict) else None
        why = reply.trouble
        return Work(result=why, done=False, error=str(code or "list_failed"), partial_data={"query": ""}, confidence=0)
    found = DocumentList.model_validate(reply.data)
    return Work(result=listing.told(found, task.task), data=nothing)


def _in_vain(query: Query, found: Found) -> Work:
    data = {"query": query.query}
    return Work(result=found.trouble, done=False, error=found.code, partial_data=data, confidence=0)


def _unanswered(task: AgentInput, found: Found) -> Work:
    return _work(found, unanswered(task.task, found.passages(), unread=found.unread), model=None)


def _work(found: Found, text: str, *, model: str | None) -> Work:
    sources = sources_of(found.passages())
    if found.whole:
        # Behind the last page that is named there may be many more.
        sources = sources[: max(cited(text, len(sources)), default=1)]
    shown = [
        {"type": "document", "source": source.source, "page": source.page, "section": source.section}
        for source in sources
    ]
    return Work(
        result=text,
        data={
            "chunks": [chunk.model_dump(mode="json") for chunk in found.chunks],
            "sources": shown,
            "query": found.query,
        },
        confidence=round(found.confidence, 4),
        sources=sources,
        shared={"research_findings": text, "research_sources": shown},
        model_used=model,
    )


def _mean(chunks: Sequence[Chunk]) -> float:
    return sum(min(1.0, max(0.0, chunk.score)) for chunk in chunks) / len(chunks) if chunks else 0.0
