"""What the rag agent says where no passage answers, and how a small model's answer gets its sources. Pure."""

from collections.abc import Sequence
from typing import Final

from agents.engine.events import Source
from agents.passages import Passage, sources_of
from agents.pipeline.citations import cited
from agents.pipeline.grounding import judged, said_by
from agents.pipeline.languages import language_of

NEAR: Final = 3


def unanswered(question: str, near: Sequence[Passage]) -> str:
    """That the documents do not answer it, and what they have that comes nearest, with its sources."""
    german = language_of(question) == "de"
    said = "Ihre Dokumente beantworten das nicht." if german else "Your documents do not answer that."
    places = [f"{_place(source)} [{number}]" for number, source in enumerate(sources_of(near)[:NEAR], start=1)]
    if not places:
        return said
    return f"{said} {'Am nächsten kommt' if german else 'What comes nearest'}: {', '.join(places)}."


def with_sources(text: str, passages: Sequence[Passage], numbers: Sequence[int], *, question: str) -> str:
    """The text, with the source behind it that says it, where it names none: small models forget to.

    `numbers`: of the passages' sources.
    """
    if not text.strip() or cited(text, len(passages)):
        return text
    claim = said_by(text)
    for number, passage in zip(numbers, passages, strict=True):
        head = f"{passage.source.source} {passage.source.section or ''}"
        if judged(claim, [f"{head}\n{passage.text}"], question=question)[0]:
            return f"{text.rstrip()} [{number}]"
    return text


def _place(source: Source) -> str:
    parts = (source.source, source.section or "")
    return ", ".join(" ".join(part.split()).translate(_MARKUP) for part in parts if part)


# Others chose the names: nothing in them is Markdown.
_MARKUP: Final = {ord(letter): f"\\{letter}" for letter in "\\`*_{}[]<>|#~!"}
