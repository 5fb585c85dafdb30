"""The sentences of an answer in Markdown, with their places and the sources that each names. English and German. Pure.

Code, tables, headings and rules are no sentences: they are left alone. What stands behind a full stop in brackets,
`… euro. [1]`, belongs to the sentence before it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agents.pipeline.citations import cited

# Possessive (`*+`): on one long row of these signs, giving them back would take minutes.
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_RULE: Final = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)$")
# Here, too: what may stand before a bar and what may stand at the end are the same blanks, and a long row of them
# would be parted in every way.
_TABLE_RULE: Final = re.compile(r"^ {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_MARKER: Final = re.compile(r"[ \t]*(?:>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)")
_QUOTED: Final = re.compile(r"[ \t]*>")
_CITED: Final = r"(?:[ \t]*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\](?!\())"
# Closing quotes, brackets and emphasis belong to the sentence; so do the numbers of its sources behind it.
# Possessive, and from the first of a run only: a long row of dots would take minutes otherwise.
_END: Final = re.compile(rf"(?<![.!?…])[.!?…]++[\"'»“”’)*_]*+{_CITED}*+(?=\s|$)")
_LAST_WORD: Final = re.compile(r"[^\s(\[\"'„“«*_]+$")
_ABBREVIATIONS: Final = """
    abb abs approx art ass aug bsp bspw bzgl bzw ca cf chap co corp dec dept dez dr e.g eg engl etc ev evtl exkl feb
    fig ff geb gem ggf hr i.e ie inc inkl int jan jr jul jun kap lt ltd max mind min mio mr mrd mrs ms nachf no nov nr
    oct okt op p phil pp prof qu resp rev s sec sen sep sept sog sr st str tab tel u.a usf usw v vgl vol vs z.b zt
    zzgl
"""
_ABBREVIATED: Final = frozenset(_ABBREVIATIONS.split())
# A number with a full stop counts: "am 2. November", "im 3. Quartal".
_ORDINAL_BEFORE: Final = re.compile(
    r"\b(?:der|die|das|dem|den|des|am|im|zum|zur|vom|beim|bis|ab|seit|ein|eine|einem|einen|einer|jede[nmrs]?)\s+"
    r"\d{1,2}\.$",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    r"\s+(?:jan|feb|mär|maer|apr|mai|jun|jul|aug|sep|okt|nov|dez|quartal|halbjahr|tag|jahr|monat|woche)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is `answer[start:end]`, Markdown and all. `citations`: the numbers of the sources that it names."""

    start: int
    end: int
    text: str
    citations: tuple[int, ...]


def sentences_of(answer: str, sources: int) -> list[Sentence]:
    """In the order of the text. `sources`: how many there are; a number beyond that is none of theirs."""
    found = []
    for start, end in _stretches(answer):
        for first, last in _split(answer, start, end):
            text = answer[first:last]
            if any(letter.isalpha() for letter in text):
                found.append(Sentence(first, last, text, cited(text, sources)))
    return found


def _stretches(answer: str) -> Iterator[tuple[int, int]]:
    """Paragraphs and items of lists, as places in the answer, without the marker that they begin with."""
    begun: int | None = None
    last = 0
    for start, end, is_text in _lines(answer):
        marker = _MARKER.match(answer, start, end) if is_text else None
        ends_here = not is_text or not answer[start:end].strip() or (marker is not None and not _goes_on(answer, start))
        if ends_here and begun is not None:
            yield begun, last
            begun = None
        if not is_text or not answer[start:end].strip():
            continue
        if begun is None:
            begun = _behind_markers(answer, start, end)
        last = end
    if begun is not None:
        yield begun, last


def _goes_on(answer: str, start: int) -> bool:
    """A further line of a quotation goes on with its paragraph."""
    before = answer.rfind("\n", 0, max(0, start - 1)) + 1
    return bool(_QUOTED.match(answer, start) and _QUOTED.match(answer, before, start))


def _behind_markers(answer: str, start: int, end: int) -> int:
    while (marker := _MARKER.match(answer, start, end)) is not None:
        start = marker.end()
    return start


def _lines(answer: str) -> Iterator[tuple[int, int, bool]]:
    """Each line with whether it may be prose."""
    fenced = {place for match in _FENCE.finditer(answer) for place in _line_starts(answer, *match.span())}
    tables = set(_table_lines(answer))
    at = 0
    before = ""
    for line in answer.split("\n"):
        end = at + len(line)
        indented = line.startswith(("    ", "\t")) and not before.strip() and not _MARKER.match(line)
        yield at, end, not (indented or at in fenced or at in tables or _HEADING.match(line) or _RULE.match(line))
        at, before = end + 1, line


def _line_starts(answer: str, start: int, end: int) -> Iterator[int]:
    at = answer.rfind("\n", 0, start) + 1
    while 0 <= at < end:
        yield at
        at = answer.find("\n", at) + 1 or end


def _table_lines(answer: str) -> Iterator[int]:
    """Where the lines of tables begin: the header, the line of dashes, and what follows until an empty line."""
    at, before, within = 0, None, False
    for line in answer.split("\n"):
        if within and "|" in line:
            yield at
        elif before is not None and "|" in line and _TABLE_RULE.match(line):
            within = True
            yield before
            yield at
        else:
            within = False
        before = at if "|" in line else None
        at += len(line) + 1


def _split(answer: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences between two places, without the space around them."""
    first = start
    for match in _END.finditer(answer, start, end):
        if match.start() < first or not _is_end(answer, first, match, end):
            continue
        yield from _trimmed(answer, first, match.end())
        first = match.end()
    yield from _trimmed(answer, first, end)


def _is_end(answer: str, first: int, match: re.Match[str], end: int) -> bool:
    if match.end() >= end or match.group()[:1] != "." or "[" in match.group():
        return True
    stop = match.start()
    rest = answer[match.end() : min(end, match.end() + 30)]
    following = rest.lstrip().lstrip("\"'„“«»(*_[")[:1]
    if following.islower():
        return False
    word = _LAST_WORD.search(answer, max(first, stop - 40), stop)
    bare = word.group().lower() if word else ""
    if bare in _ABBREVIATED or (len(bare) == 1 and bare.isalpha()):
        return False
    if bare.isdigit() and len(bare) <= 2:
        return not (_COUNTED.match(rest) or _ORDINAL_BEFORE.search(answer[max(first, stop - 20) : stop + 1]))
    return True


def _trimmed(answer: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    text = answer[start:end]
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    if start < end:
        yield start, end
