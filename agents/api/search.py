"""`POST /api/v1/search`: passages of the caller's documents. What is found and who sees it is decided in `memory`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import transaction
from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, describing
from agents.api.search_serializers import FoundSerializer, SearchSerializer
from agents.engine.states import ExecutionStatus
from agents.log.following import settled
from agents.models import Execution
from agents.pipeline.rerank import NAME as RERANK
from agents.roles.reranker import PASSAGE_CHARS, PASSAGES
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.metering import take
from hyperagent.accounts.models import User
from hyperagent.accounts.quotas import Work
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer
from hyperagent.lib.async_api import AsyncAnswerView, Later
from hyperagent.lib.threads import in_thread
from memory.retrieval.search import search
from memory.retrieval.sources import confidence_of, sources_of
from memory.values import Filters, Found, Mode, Passage, Wanted

RERANK_LIMIT_S: Final = 20.0
NO_MODEL: Final = "Not ranked by a model: none is configured that could. The order is that of the search."
NOT_RANKED: Final = "Not ranked by a model: it failed, or took too long. The order is that of the search."


@dataclass(frozen=True, slots=True)
class Answer:
    """What is told of a search. `wants_why`: with the trace, and each passage's ranks."""

    passages: tuple[Passage, ...]
    found: Found
    note: str
    wants_why: bool

    def shape(self) -> dict[str, Any]:
        shown = {
            "chunks": [_chunk(passage, wants_why=self.wants_why) for passage in self.passages],
            "sources": sources_of(self.passages),
            "confidence": round(confidence_of(self.passages), 4),
            "note": self.note,
        }
        return {**shown, "trace": dict(self.found.trace)} if self.wants_why else shown


class Search(AsyncAnswerView):
    permission_classes = (HasScope(Scope.READ, Scope.DOCUMENTS),)

    @extend_schema(
        request=SearchSerializer,
        responses={200: FoundSerializer, **dict.fromkeys((400, 401, 403, 429, 503), ErrorSerializer)},
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Searches the documents that the caller may see, and gives the passages that fit best.

        With `rerank` a model puts the best twenty in order; where none can, `note` says so.
        """
        asked = SearchSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        user, given = request.user, asked.validated_data
        assert isinstance(user, User)
        take(user.pk, Work.SEARCH)
        wanted = _wanted(given)
        found = search(user.pk, replace(wanted, top_k=max(wanted.top_k, PASSAGES)) if given["rerank"] else wanted)
        answer = Answer(found.passages[: wanted.top_k], found, found.note, given["explain"])
        if not given["rerank"] or len(found.passages) < 2:
            return Response(answer.shape())
        if not describing.is_capable():
            return Response(replace(answer, note=_and(found.note, NO_MODEL)).shape())
        execution = _begin(user, found, keep=wanted.top_k)
        return Later(lambda: _reranked(execution, answer))


def _wanted(given: dict[str, Any]) -> Wanted:
    return Wanted(
        query=given["query"],
        top_k=given["top_k"],
        document_ids=tuple(given["document_ids"]),
        filters=Filters(**given["filters"]),
        mode=Mode(given["mode"]),
    )


def _begin(user: User, found: Found, *, keep: int) -> Execution:
    with transaction.atomic():
        return actions.start(
            user=user,
            conversation_id=None,
            question=found.wanted.query,
            pipeline=RERANK,
            about={"passages": [_told(passage) for passage in found.passages[:PASSAGES]], "keep": keep},
        )


async def _reranked(execution: Execution, answer: Answer) -> HttpResponseBase:
    """Waits for the run, for a bounded time; whatever becomes of it, the passages are given."""
    try:
        async with asyncio.timeout(RERANK_LIMIT_S):
            ended = await settled(execution)
    except TimeoutError:
        await in_thread(actions.cancel)(execution.id, by=None)
        return _as_json(replace(answer, note=_and(answer.note, NOT_RANKED)))
    if ended.status != ExecutionStatus.COMPLETED:
        return _as_json(replace(answer, note=_and(answer.note, NOT_RANKED)))
    order = (ended.result or {}).get("ranked_indices", [])
    return _as_json(replace(answer, passages=_in_order(answer.found.passages, order)[: len(answer.passages)]))


def _as_json(answer: Answer) -> HttpResponseBase:
    return JsonResponse(answer.shape())


def _in_order(passages: Sequence[Passage], order: Sequence[int]) -> tuple[Passage, ...]:
    """Those that the order names, then the others as they stood."""
    places = dict.fromkeys([*(place for place in order if 0 <= place < len(passages)), *range(len(passages))])
    return tuple(passages[place] for place in places)


def _told(passage: Passage) -> list[str]:
    named = [passage.filename, f"page {passage.page}", passage.section_title, str(passage.date or "")]
    return [", ".join(part for part in named if part), passage.text[:PASSAGE_CHARS]]


def _and(note: str, more: str) -> str:
    return f"{note} {more}".strip()


def _chunk(passage: Passage, *, wants_why: bool) -> dict[str, Any]:
    shown = {
        "chunk_id": str(passage.chunk_id),
        "doc_id": str(passage.document_id),
        "score": round(passage.score, 4),
        "text": passage.text,
        "start": passage.start,
        "end": passage.end,
        "metadata": {
            "filename": passage.filename,
            "page": passage.page,
            "last_page": passage.last_page,
            "section_title": passage.section_title or None,
            "doc_type": passage.doc_type or None,
            "date": passage.date.isoformat() if passage.date else None,
        },
    }
    return {**shown, "why": dict(passage.why)} if wants_why else shown
