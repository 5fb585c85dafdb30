"""What the rag agent says where no passage answers, and what becomes of a small model's answer. Pure."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agents.craft.passages import Passage, numbers_of, sources_of
from agents.engine.events import Source
from agents.pipeline.citations import cited
from agents.pipeline.grounding import judged, nearest_said, said_by
from agents.pipeline.languages import language_of
from hyperagent.lib.clipping import one_line

NEAR: Final = 3
QUOTE_CHARS: Final = 240


@dataclass(frozen=True, slots=True)
class _Place:
    """Where it stands, under the number of its source, and the sentence there that has most of the question's words;
    without one, where none has any. Both are Markdown."""

    name: str
    quote: str
    number: int

    def as_item(self) -> str:
        return f"- {self.name}{f': {self.quote}' if self.quote else ''} [{self.number}]"


def unanswered(question: str, near: Sequence[Passage], *, unread: int = 0) -> str:
    """That the documents do not answer it for sure, and what they have that comes nearest. `unread`: how many of them
    nobody could search yet."""
    german = _is_german(question)
    if not near:
        nothing = "Ihre Dokumente beantworten das nicht." if german else "Your documents do not answer that."
        return f"{nothing} {_unread(unread, german=german)}" if unread else nothing
    listed = _nearest(question, near, german=german)
    return f"{listed}\n\n{_unread(unread, german=german)}" if unread else listed


def _unread(count: int, *, german: bool) -> str:
    if german:
        which = "Ein Dokument wird" if count == 1 else f"{count} Dokumente werden"
        return f"{which} noch gelesen: Fragen Sie in einem Augenblick noch einmal."
    which = "One document is" if count == 1 else f"{count} documents are"
    return f"{which} still being read: ask again in a moment."


def partly_read(question: str, read: int, total: int) -> str:
    """That a document was read from its beginning on, and not to its end."""
    if _is_german(question):
        return f"Gelesen ist davon nur der Anfang, bis Seite {read} von {total}."
    return f"Only its beginning was read, up to page {read} of {total}."


def _nearest(question: str, near: Sequence[Passage], *, german: bool) -> str:
    if german:
        said = "In Ihren Dokumenten habe ich darauf keine sichere Antwort gefunden. Am nächsten kommt:"
    else:
        said = "I found no sure answer to that in your documents. What comes nearest:"
    return _listed(said, _places(question, near))


def with_source(text: str, passages: Sequence[Passage], *, question: str) -> str:
    """A small model's answer with the source that says it. Where none does, it was invented, and the passages are
    quoted in its place; if no sentence of them comes near to the question, it stays."""
    claim = said_by(text)
    for number, passage in zip(numbers_of(passages), passages, strict=True):
        if claim and judged(claim, [f"{_head(passage.source)}\n{passage.text}"], question=question)[0]:
            return text if cited(text, len(passages)) else f"{text.rstrip()} [{number}]"
    quoted = [place for place in _places(question, passages) if place.quote]
    if not quoted:
        return text
    said = "In Ihren Dokumenten steht dazu:" if _is_german(question) else "This is what your documents say on that:"
    return _listed(said, quoted)


def _listed(said: str, places: Sequence[_Place]) -> str:
    return "\n".join([said, "", *(place.as_item() for place in places)])


def _places(question: str, passages: Sequence[Passage]) -> list[_Place]:
    texts: dict[int, list[str]] = {}
    for number, passage in zip(numbers_of(passages), passages, strict=True):
        texts.setdefault(number, []).append(passage.text)
    sources = enumerate(sources_of(passages)[:NEAR], start=1)
    return [
        _Place(_name(source), _quote(question, source, "\n".join(texts[number])), number) for number, source in sources
    ]


def _quote(question: str, source: Source, text: str) -> str:
    """What its name and its heading say already stands beside it."""
    said = nearest_said(text, to=question, beside=f"{_head(source)} {_ASKING}")
    if not said:
        return ""
    opening, closing = "„“" if _is_german(question) else "“”"
    return f"{opening}{textwrap.shorten(said, QUOTE_CHARS, placeholder=' …').translate(_MARKUP)}{closing}"


def _is_german(question: str) -> bool:
    return language_of(question) == "de"


def _head(source: Source) -> str:
    return f"{source.source} {source.section or ''}"


def _name(source: Source) -> str:
    parts = (source.source, source.section or "")
    return ", ".join(one_line(part).translate(_MARKUP) for part in parts if part)


# What people ask for, and not what they ask about.
_ASKING: Final = """
documents files pages passages sources sentences words say tell name show find list quote answer explain summarize
briefly short one two three
Dokumente Dateien Seiten Stellen Quellen Sätze Worte sagen nennen zeigen finden zitieren antworten erklären
zusammenfassen kurz ein zwei drei
"""
# Others chose the names: nothing in them is Markdown.
_MARKUP: Final = {ord(letter): f"\\{letter}" for letter in "\\`*_{}[]<>|#~!"}
