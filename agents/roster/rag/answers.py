"""What the rag agent says where no passage answers, and how a small model's answer gets its sources. Pure."""

import textwrap
from collections.abc import Sequence
from typing import Final

from agents.engine.events import Source
from agents.passages import Passage, numbers_of, sources_of
from agents.pipeline.citations import cited
from agents.pipeline.grounding import judged, nearest_said, said_by
from agents.pipeline.languages import language_of

NEAR: Final = 3
QUOTE_CHARS: Final = 240


def unanswered(question: str, near: Sequence[Passage]) -> str:
    """That the documents do not answer it for sure; and what they have that comes nearest: where it stands, and the
    sentence of it that has most of the question's words."""
    german = language_of(question) == "de"
    if not near:
        return "Ihre Dokumente beantworten das nicht." if german else "Your documents do not answer that."
    texts: dict[int, list[str]] = {}
    for number, passage in zip(numbers_of(near), near, strict=True):
        texts.setdefault(number, []).append(passage.text)
    places = [
        f"- {_place(source)}{_quote(question, source, texts[number], german=german)} [{number}]"
        for number, source in enumerate(sources_of(near)[:NEAR], start=1)
    ]
    if german:
        said = "In Ihren Dokumenten habe ich darauf keine sichere Antwort gefunden. Am nächsten kommt:"
    else:
        said = "I found no sure answer to that in your documents. What comes nearest:"
    return "\n".join([said, "", *places])


def _quote(question: str, source: Source, texts: Sequence[str], *, german: bool) -> str:
    """What its name and its heading say already is told beside it."""
    said = nearest_said("\n".join(texts), to=question, beside=_head(source))
    if not said:
        return ""
    quoted = textwrap.shorten(said, QUOTE_CHARS, placeholder=" …").translate(_MARKUP)
    return f": „{quoted}“" if german else f": “{quoted}”"


def with_sources(text: str, passages: Sequence[Passage], numbers: Sequence[int], *, question: str) -> str:
    """The text, with the source behind it that says it, where it names none: small models forget to.

    `numbers`: of the passages' sources.
    """
    if not text.strip() or cited(text, len(passages)):
        return text
    claim = said_by(text)
    for number, passage in zip(numbers, passages, strict=True):
        if judged(claim, [f"{_head(passage.source)}\n{passage.text}"], question=question)[0]:
            return f"{text.rstrip()} [{number}]"
    return text


def _head(source: Source) -> str:
    return f"{source.source} {source.section or ''}"


def _place(source: Source) -> str:
    parts = (source.source, source.section or "")
    return ", ".join(" ".join(part.split()).translate(_MARKUP) for part in parts if part)


# Others chose the names: nothing in them is Markdown.
_MARKUP: Final = {ord(letter): f"\\{letter}" for letter in "\\`*_{}[]<>|#~!"}
