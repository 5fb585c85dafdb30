"""The rag agent: finds passages in the person's documents and answers from them, with sources."""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from pydantic import BaseModel, Field

from agents.briefing import briefing, house_rules, short_briefing
from agents.engine.events import Source
from agents.exchange import AgentInput, Work
from agents.passages import Passage, sources_of, told
from agents.prompts import fill, read_prompt
from agents.roster.rag.filters import filters_of
from agents.runtime.context import AgentContext, ToolReply
from agents.small import SMALL_CHARS, ask_small
from agents.spec import AgentSpec
from agents.stages import stage
from agents.tools.values import Chunk, FoundChunks
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
    ),
    tools=("search_documents", "read_document"),
    needs=("documents",),
    handoffs=False,
    temperature=0.1,
    data_fields=("chunks", "sources", "query"),
)

HERE = Path(__file__).parent
TOP_K: Final = 8
CHUNK_CHARS: Final = 5_000
ALL_CHUNKS_CHARS: Final = 36_000
EXCERPT_CHARS: Final = 300


class Query(BaseModel):
    """One search of documents, and what it is limited to."""

    query: str = Field(min_length=1, max_length=500)
    doc_type: str = ""
    filename: str = ""
    date_from: str = Field(default="", description="YYYY-MM-DD, or empty")
    date_to: str = Field(default="", description="YYYY-MM-DD, or empty")
    metric: str = ""
    names: list[str] = []


@dataclass(frozen=True, slots=True)
class Found:
    """`widened`: nothing was found under the filters, so they were dropped. `trouble`: why nothing was searched."""

    query: str
    chunks: tuple[Chunk, ...] = ()
    widened: bool = False
    trouble: str = ""
    code: str = ""

    def passages(self) -> list[Passage]:
        return [Passage(_source(chunk), chunk.text) for chunk in self.chunks]


async def run(context: AgentContext, task: AgentInput) -> Work:
    with stage(context, "search", "Choosing what to look for in the documents"):
        query = await _query(context, task)
    with stage(context, "search", f"Searching the documents for: {query.query}"):
        found = await _found(context, task, query)
    if found.trouble:
        data = {"query": query.query}
        return Work(result=found.trouble, done=False, error=found.code, partial_data=data, confidence=0)
    with stage(context, "synthesize", "Answering from what was found"):
        reply = await _answer(context, task, found)
    return _work(found, reply)


async def _query(context: AgentContext, task: AgentInput) -> Query:
    if not task.capable:
        return Query(query=" ".join(task.task.split())[:300] or "-")
    today = (await context.now()).date().isoformat()
    system = fill(read_prompt(HERE / "query.md"), today=today, rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=briefing(task)))
    request = task.request(agent=SPEC.name, tier=Tier.FLASH, messages=messages, temperature=0)
    return await context.structured(request, Query, stage="search_agent")


async def _found(context: AgentContext, task: AgentInput, query: Query) -> Found:
    """Under the filters; without them, if nothing is found so."""
    filters = filters_of(task.entities, query.model_dump(mode="json", exclude={"query", "metric", "names"}))
    words = _words(query)
    reply = await _search(context, task, words, filters)
    widened = bool(filters) and not reply.is_error and not _chunks_in(reply)
    if widened:
        reply = await _search(context, task, words, {})
    if reply.is_error:
        code = reply.data.get("error") if isinstance(reply.data, dict) else None
        return Found(words, trouble=reply.content.removeprefix("Error: "), code=str(code or "search_failed"))
    return Found(words, _chunks_in(reply), widened=widened)


async def _search(context: AgentContext, task: AgentInput, words: str, filters: dict[str, str]) -> ToolReply:
    arguments: dict[str, Any] = {"query": words, "top_k": TOP_K}
    if task.options.document_ids:
        arguments["document_ids"] = list(task.options.document_ids)
    if filters:
        arguments["filters"] = filters
    return await context.tool("search_documents", arguments)


def _words(query: Query) -> str:
    """The query with names and metric, where it forgot them."""
    missing = [word for word in (*query.names, query.metric) if word and word.lower() not in query.query.lower()]
    return " ".join([query.query, *missing])[:500]


def _chunks_in(reply: ToolReply) -> tuple[Chunk, ...]:
    return FoundChunks.model_validate(reply.data).chunks[:TOP_K] if reply.data else ()


async def _answer(context: AgentContext, task: AgentInput, found: Found) -> ModelReply:
    passages = found.passages()
    if not task.capable:
        few = told(passages[:3], limit=SMALL_CHARS // 3, total=SMALL_CHARS)
        user = f"{few}\n\nQuestion: {short_briefing(task, limit=400)}"
        system = read_prompt(HERE / "prompt_small.md")
        return await ask_small(context, task, SPEC, system=system, user=user, stage="synthesize")
    widened = "\nNothing was found within the period or kind of document that was asked for; these are from elsewhere."
    shown = told(passages, limit=CHUNK_CHARS, total=ALL_CHUNKS_CHARS) or "Nothing was found in the documents."
    user = f"{briefing(task)}\n\n## Sources{widened if found.widened else ''}\n{shown}"
    system = fill(read_prompt(HERE / "synthesize.md"), rules=house_rules())
    messages = (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=user))
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.model(request, stage="synthesize", shown=task.speaks)


def _source(chunk: Chunk) -> Source:
    about = chunk.metadata
    return Source(
        type="document",
        source=about.filename,
        page=about.page,
        section=about.section_title,
        excerpt=chunk.text[:EXCERPT_CHARS],
        relevance_score=chunk.score,
    )


def _work(found: Found, reply: ModelReply) -> Work:
    sources = sources_of(found.passages())
    scores = [min(1.0, max(0.0, chunk.score)) for chunk in found.chunks]
    shown = [
        {"type": "document", "source": source.source, "page": source.page, "section": source.section}
        for source in sources
    ]
    return Work(
        result=reply.text,
        data={
            "chunks": [chunk.model_dump(mode="json") for chunk in found.chunks],
            "sources": shown,
            "query": found.query,
        },
        confidence=round(fmean(scores), 4) if scores else 0,
        sources=sources,
        shared={"research_findings": reply.text, "research_sources": shown},
        model_used=reply.model,
    )
