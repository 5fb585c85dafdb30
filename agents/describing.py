"""Has documents described by a model: starts the runs, and stores what they say. Which model and how is not here."""

import os
from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid5

from django.db import transaction

from agents import actions
from agents.engine.states import ExecutionStatus
from agents.models import Execution
from agents.pipeline.describe import NAME
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.config import LLMSettings
from memory.actions import documents
from memory.kinds import SEARCHABLE, BlockKind
from memory.models import Document

ON_FINISH: Final = "agents.tasks.document_described"
_IDS: Final = UUID("5d9f3c0e-4d5e-4a0b-8f43-0b6f1d1f7a11")
BEGINNING_CHARS: Final = 3_500
HEADINGS: Final = 40
HEADING_CHARS: Final = 120
SAMPLES: Final = 4
SAMPLE_CHARS: Final = 600
PAGES_LOOKED_AT: Final = 200


def run_of(document: Document) -> UUID:
    """The one run that describes these bytes, read this time; read again, they are described again."""
    return uuid5(_IDS, f"{document.id} {document.epoch}")


def begin(document_id: UUID) -> Execution | None:
    """None where the document is not there, has no text yet, was described already, or only the small model serves."""
    if not is_capable():
        return None
    with transaction.atomic():
        document = (
            Document.objects.select_for_update(of=("self",)).select_related("owner").filter(id=document_id).first()
        )
        if document is None or document.status not in SEARCHABLE:
            return None
        if Execution.objects.filter(id=run_of(document)).exists():
            return None
        return actions.start(
            user=document.owner,
            conversation_id=None,
            question=f"What is {document.filename} about?",
            on_finish=ON_FINISH,
            pipeline=NAME,
            execution_id=run_of(document),
            about={"document_id": str(document.id), "filename": document.filename, "excerpt": excerpt_of(document)},
        )


def keep(execution: Execution) -> None:
    """Stores what a run said of its document, if it did."""
    if execution.status == ExecutionStatus.COMPLETED and execution.answer.strip():
        documents.describe(UUID(execution.input["document_id"]), execution.answer)


def is_capable() -> bool:
    """Whether a model is configured that can be trusted with more than a short question."""
    models = LLMSettings.from_env(os.environ)
    return models.default is not None and not models.bundled_only


def excerpt_of(document: Document) -> str:
    """Its beginning, its headings, and pieces from further on. Two queries."""
    first = list(document.pages.order_by("number").values_list("text", "blocks")[:PAGES_LOOKED_AT])
    beginning = "\n\n".join(text for text, _ in first[:5])[:BEGINNING_CHARS]
    parts = [beginning]
    headings = list(dict.fromkeys(heading for text, blocks in first for heading in _headings(text, blocks)))
    if headings:
        parts.append("Headings:\n" + "\n".join(f"- {heading}" for heading in headings[:HEADINGS]))
    later = document.chunks.filter(start__gte=BEGINNING_CHARS).order_by("ordinal").values_list("ordinal", flat=True)
    ordinals = _spread(list(later))
    chosen = document.chunks.filter(ordinal__in=ordinals).order_by("ordinal").values_list("text", flat=True)
    parts += [f"[…]\n{text[:SAMPLE_CHARS]}" for text in chosen]
    return "\n\n".join(parts)


def _headings(text: str, blocks: Sequence[Sequence[object]]) -> list[str]:
    """`blocks`: as `DocumentPage` has them, [kind, level, start, end]."""
    return [
        one_line(text[int(str(start)) : int(str(end))])[:HEADING_CHARS]
        for kind, _, start, end in blocks
        if kind == BlockKind.HEADING
    ]


def _spread(ordinals: Sequence[int]) -> list[int]:
    """A few of them, evenly from the first to the last."""
    if len(ordinals) <= SAMPLES:
        return list(ordinals)
    return [ordinals[round(place * (len(ordinals) - 1) / (SAMPLES - 1))] for place in range(SAMPLES)]
