"""Whether the sentences of an answer say what the sources say that they name (B19): by their words. Pure.

Figures, days and identifiers have to be in the source; so has most of what the sentence is about, without a "not" that
one of them has and the other has not. What words cannot tell is for a model (`agents.pipeline.grounded`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pydantic import ValidationError

from agents.craft.exchange import AgentOutput
from agents.engine.events import Check, Source
from agents.pipeline.figures import counted_in, facts_of
from agents.pipeline.languages import language_of
from agents.pipeline.sentences import Sentence, sentences_of
from agents.tools.values import Chunk
from hyperagent.lib.clipping import one_line
from memory.words.terms import terms_of

# Calibrated on the pairs of tests/pipeline/test_grounding.py: faithful paraphrases share this much of their words with
# the passage, and what the passage does not say shares less than the other.
MOST: Final = 0.6
LITTLE: Final = 0.34
SHORTEST_PREFIX: Final = 5
# More than that is no answer that somebody reads to its end: its beginning is checked.
SENTENCES: Final = 60
ANSWER_CHARS: Final = 40_000
SOURCE_CHARS: Final = 40_000
LEAD: Final = 3
_MARKUP: Final = re.compile(r"(?<!`)`{1,2}|\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~|<[^<>]{1,200}>|^\s*>\s?", re.MULTILINE)
_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_CITATION: Final = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")
_NAME: Final = re.compile(r"(?<!\w)[A-ZÄÖÜ][\w&'’-]*\w")
_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|none|nor|neither|without|cannot|except|excluding|nicht|nie|niemals|kein\w{0,2}|ohne|weder|"
    r"außer|ausgenommen)\b|\w+n['’]t\b",
    re.IGNORECASE,
)
_DENIAL: Final = re.compile(
    r"\b(?:prohibited|forbidden|excluded|rejected|refused|declined|denied|verboten|untersagt|unzulässig|ausgeschlossen|"
    r"abgelehnt)\b",
    re.IGNORECASE,
)
# Answers that say that something is not known cite what is near to it.
_UNKNOWN: Final = re.compile(
    r"\b(?:do(?:es)?\s+not|don['’]t|doesn['’]t|nothing|no\s+(?:information|mention|answer|figure|passage|source))\b.{0,60}"
    r"\b(?:say|state|mention|contain|answer|give|found|tell|about|documents?|sources?|passages?)\b|"
    r"\b(?:sagt|sagen|steht|nennen|nennt|enthalten|enthält|findet\s+sich)\b.{0,60}\b(?:nichts|nicht|kein\w{0,2})\b",
    re.IGNORECASE,
)
_NEGATED_WORDS: Final = 3
_BLOCKS: Final = re.compile(r"\n\s*\n|\n(?=\s*(?:\||[-*•]\s|\d+[.)]\s))")
_HEADING: Final = re.compile(r"#{1,6}\s")
_ITEM: Final = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?;])\s+(?=[^a-zäöüß])")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a source says. `is_whole`: all that the answer was made from; of a web page there may be an excerpt only."""

    source: Source
    texts: tuple[str, ...]
    is_whole: bool

    @property
    def text(self) -> str:
        """With the names of file and section, which a sentence may take up."""
        head = " ".join(part for part in (self.source.source, self.source.section) if part)
        return "\n".join([head, *self.texts])[:SOURCE_CHARS]


def evidence_of(sources: Sequence[Source], outputs: Iterable[AgentOutput]) -> tuple[Evidence, ...]:
    """For each source, in their order, all passages that agents found in it (S173: of one file, page and section)."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for chunk in _chunks_of(outputs):
        at = chunk.metadata
        found.setdefault((chunk.doc_id, at.filename, at.page, at.section_title), []).append(chunk.text)
    return tuple(_evidence(source, found) for source in sources)


def _evidence(source: Source, found: Mapping[tuple[Any, ...], list[str]]) -> Evidence:
    texts = found.get((source.document_id, source.source, source.page, source.section), [])
    excerpt = [source.excerpt] if source.excerpt else []
    return Evidence(source, tuple(dict.fromkeys(texts or excerpt)), is_whole=bool(texts))


def _chunks_of(outputs: Iterable[AgentOutput]) -> Iterator[Chunk]:
    for output in outputs:
        chunks = output.data.get("chunks")
        for chunk in chunks if isinstance(chunks, list) else ():
            try:
                yield Chunk.model_validate(chunk)
            except ValidationError:
                continue  # an agent of somebody else's, with chunks of another shape


def checks_of(answer: str, evidence: Sequence[Evidence], *, question: str = "") -> list[Check]:
    """A check for each sentence that names a source, and for each that has a figure and names none.

    Without any citation in the answer there is nothing to check. `question`: names in it are the person's own words.
    """
    sentences = sentences_of(answer[:ANSWER_CHARS], len(evidence))[:SENTENCES]
    if not any(sentence.citations for sentence in sentences):
        return []
    checks = (_check(sentence, evidence, question) for sentence in sentences)
    return [check for check in checks if check is not None]


def _check(sentence: Sentence, evidence: Sequence[Evidence], question: str) -> Check | None:
    claim = said_by(sentence.text)
    if not sentence.citations:
        if not facts_of(claim).figures:
            return None
        return _as_check(sentence, None, "It names no source.")
    cited = [evidence[number - 1] for number in sentence.citations]
    supported, why = judged(claim, [one.text for one in cited], question=question)
    if supported is False and not all(one.is_whole for one in cited):
        supported, why = None, "Only an excerpt of the source is at hand, and it does not say so."
    return _as_check(sentence, supported, why)


def _as_check(sentence: Sentence, supported: bool | None, why: str) -> Check:
    return Check(
        start=sentence.start,
        end=sentence.end,
        sentence=sentence.text,
        citations=sentence.citations,
        supported=supported,
        why=why,
    )


def said_by(sentence: str) -> str:
    """The sentence without Markdown and without the numbers of its sources."""
    plain = _CITATION.sub(" ", _LINK.sub(r"\1", sentence))
    return one_line(_MARKUP.sub("", plain))


def judged(claim: str, texts: Sequence[str], *, question: str = "") -> tuple[bool | None, str]:
    """Whether the texts together say it, None where words cannot tell, and why not: a sentence for people."""
    whole = "\n\n".join(texts)
    if _UNKNOWN.search(claim):
        return None, "It says what the source does not say, and words cannot tell that."
    facts = facts_of(claim)
    missing = facts.missing(facts_of(whole))
    if missing:
        return False, f"Not in the source: {', '.join(missing[:4])}."
    theirs = language_of(whole)
    language = language_of(claim, otherwise=theirs)
    words = _words(claim, language)
    if not words:
        return True, ""
    if theirs != language:
        return None, "The source is in another language, and words cannot tell."
    return _judged_by_words(claim, whole, words, language=language, question=question)


def nearest_said(text: str, *, to: str, beside: str = "") -> str:
    """The sentence, item or row of the text that shares most words with `to`, but for those of `beside`; where that has
    them all, how the text begins. Empty, if none shares any. Headings are none, nor is what `beside` says."""
    language = language_of(to)
    known = _words(beside, language)
    words = frozenset(word for word in _words(to, language) if not _is_among(word, known))
    lines = [_as_line(part) for part in _parts(text) if not _HEADING.match(part)]
    lines = [line for line in lines if line not in beside]
    if not words:
        return " ".join(lines[:LEAD])
    nearest, _ = _nearest(words, lines, language)
    there = _words(nearest, language)
    return nearest if any(_is_among(word, there) for word in words) else ""


def _as_line(part: str) -> str:
    """Without the mark of an item; the cells of a row one after the other."""
    if not part.startswith("|"):
        return _ITEM.sub("", part)
    return ", ".join(cell.strip() for cell in part.strip("|").split("|"))


def _judged_by_words(
    claim: str, whole: str, words: frozenset[str], *, language: str, question: str
) -> tuple[bool | None, str]:
    known = _words(whole, language)
    share = sum(_is_among(word, known) for word in words) / len(words)
    if share < LITTLE:
        return False, "The source says little of what this says."
    own = _words(question, language)
    strangers = [name for name in _names(claim, language) if not _is_among(name, known) and name not in own]
    if strangers:
        return False, f"The source does not name {', '.join(strangers[:3])}."
    parts = _parts(whole)
    astray = _astray(claim, parts, language)
    if astray:
        return None, f"The source says {astray} of something else."
    if _is_turned_around(claim, words, parts, language):
        return None, "One of them says that it is not so."
    return (True, "") if share >= MOST else (None, "The source says only a part of it in these words.")


# --- words


@lru_cache(maxsize=4_096)
def _words(text: str, language: str) -> frozenset[str]:
    """What it is about, stemmed; numbers and identifiers are compared elsewhere."""
    return frozenset(term for term in terms_of(text, language) if not any(letter.isdigit() for letter in term))


def _is_among(word: str, known: frozenset[str]) -> bool:
    """Itself, or one that begins with the other: "Umsatz" and "Umsatzerlöse". Short words are only themselves."""
    if word in known:
        return True
    if len(word) < SHORTEST_PREFIX:
        return False
    return any(
        other.startswith(word) or (len(other) >= SHORTEST_PREFIX and word.startswith(other))
        for other in known
        if other[:SHORTEST_PREFIX] == word[:SHORTEST_PREFIX]
    )


def _names(claim: str, language: str) -> list[str]:
    """Words written large that do not begin the sentence. In German, where every noun is, only such as IBM."""
    found = []
    for match in _NAME.finditer(claim):
        word = match[0]
        begins = match.start() == 0 or claim[: match.start()].rstrip(" \"'„“(")[-1:] in ".:!?"
        inner = any(letter.isupper() for letter in word[1:]) and not any(letter.isdigit() for letter in word)
        if inner or (language == "en" and not begins):
            found += sorted(_words(word, language))
    return list(dict.fromkeys(found))


# --- what stands together


@lru_cache(maxsize=128)
def _parts(text: str) -> tuple[str, ...]:
    """The sentences of a source, its items and the rows of its tables; lines that a page's width broke are joined."""
    blocks = (one_line(block) for block in _BLOCKS.split(text))
    return tuple(part for block in blocks for part in _SENTENCE_ENDS.split(block) if part.strip())


def _astray(claim: str, parts: Sequence[str], language: str) -> str:
    """The first figure of the claim whose counted thing ("3 months") stands nowhere beside it in the source."""
    for figure, counted in counted_in(claim):
        word = next(iter(_words(counted, language)), "")
        if not word:
            continue
        beside = [
            part for part in parts if any(figure.is_like(other, percents=True) for other in facts_of(part).figures)
        ]
        if beside and not any(_is_among(word, _words(part, language)) for part in beside):
            return f"{figure.text} {counted}"
    return ""


def _is_turned_around(claim: str, words: frozenset[str], parts: Sequence[str], language: str) -> bool:
    """Whether a "not" stands in one of them about what the other says without."""
    nearest, beside = _nearest(words, parts, language)
    there = _words(nearest, language)
    denied = [
        *_negated(nearest, language),
        *(word for part in beside for word in _negated(part, language) if word not in there),
    ]
    is_denied = any(_is_among(word, words) for word in denied)
    return is_denied != bool(_NEGATION.search(claim) or _DENIAL.search(claim))


def _nearest(words: frozenset[str], parts: Sequence[str], language: str) -> tuple[str, tuple[str, ...]]:
    """The part of the source that shares most words with the claim, and its neighbours."""
    shared = [sum(_is_among(word, _words(part, language)) for word in words) for part in parts]
    if not shared:
        return "", ()
    best = shared.index(max(shared))
    return parts[best], (*parts[max(0, best - 1) : best], *parts[best + 1 : best + 2])


def _negated(text: str, language: str) -> Iterator[str]:
    """The words right behind each "not", and those before what says it by itself ("is prohibited")."""
    for match in _NEGATION.finditer(text):
        following = text[match.end() :].split()[: _NEGATED_WORDS + 2]
        yield from list(dict.fromkeys(word for part in following for word in _words(part, language)))[:_NEGATED_WORDS]
    for match in _DENIAL.finditer(text):
        before = text[: match.start()].split()[-_NEGATED_WORDS - 2 :]
        yield from [word for part in before for word in _words(part, language)]
