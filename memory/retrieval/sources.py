"""What passages are shown as: their sources, each once, and how sure they make one. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from memory.values import Passage


def sources_of(passages: Iterable[Passage]) -> list[dict[str, Any]]:
    """Each file, page and section once (S173), in the order of the passages, with the best chunk of each."""
    sources: dict[tuple[Any, ...], dict[str, Any]] = {}
    for passage in passages:
        sources.setdefault(
            (passage.document_id, passage.page, passage.section_title),
            {
                "type": "document",
                "source": passage.filename,
                "page": passage.page,
                "section": passage.section_title,
                "document_id": str(passage.document_id),
                "chunk_id": str(passage.chunk_id),
                "score": round(passage.score, 4),
            },
        )
    return list(sources.values())


def confidence_of(passages: Sequence[Passage]) -> float:
    """The mean score (S173), 0..1; 0 when nothing was found."""
    return sum(passage.score for passage in passages) / len(passages) if passages else 0.0
