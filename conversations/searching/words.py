"""What a text is found by, and what a query looks for: lexemes of a tsvector and a tsquery over them. Pure.

Languages are mixed, so there is no stem: a word is found by its beginning (`rechnung` finds Rechnungen), a long word by
its inside too (`markt` finds Wohnungsmarkt), and what is written without spaces by its pairs of characters.

Every lexeme begins with a key of its owner: a person's words are a stretch of the index of their own, so that a search
costs what this person said, however much others did, and can meet nothing of theirs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from hyperagent.lib.clipping import one_line
from memory.words.stop_words import STOP_WORDS
from memory.words.tokens import fold, marks, tokens, tokens_of

MOST_CHARS: Final = 200_000
MOST_LEXEMES: Final = 20_000
"""Postgres refuses a tsvector of more than 1 MB."""
MOST_WORDS: Final = 16
MOST_ALONE: Final = 8
QUERY_CHARS: Final = 400
LEAST_COMPOUND: Final = 9
LEAST_INSIDE: Final = 4
LEAST_BEGINNING: Final = 3
_INSIDE: Final = "~"
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_STOP_WORDS: Final = frozenset(STOP_WORDS["en"]) | frozenset(STOP_WORDS.get("de", ()))


@dataclass(frozen=True, slots=True)
class Sought:
    """`words`: tokens, all of which a message is to have; `said`: the folded stretches of the query that are marked
    where they stand, and that names and titles are looked through for; `last`: the word that may still be typed."""

    words: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    last: str = ""


def sought(query: str) -> Sought:
    """Stop words are left out where there are other words, but for the last one, which may go on."""
    stretches = [(mark, list(tokens(mark))) for mark in marks(query[:QUERY_CHARS])]
    found = list(dict.fromkeys(token for _, some in stretches for token in some))
    last = stretches[-1][1][-1] if stretches and stretches[-1][1] else ""
    telling = [word for word in found if word not in _STOP_WORDS or word == last]
    kept = tuple((telling if any(word not in _STOP_WORDS for word in telling) else found)[:MOST_WORDS])
    said = [fold(mark) for mark, some in stretches if set(some) & set(kept) or not kept]
    return Sought(kept, tuple(dict.fromkeys(said))[:MOST_WORDS], last)


def says_something(wanted: Sought) -> bool:
    """A single Latin letter stands in everything."""
    return any(len(stretch) > 1 or not stretch.isascii() for stretch in wanted.said)


def lexemes(text: str, owner: UUID) -> list[str]:
    """Each once, in no order that means anything."""
    key = key_of(owner)
    found: dict[str, None] = {}
    for lexeme in _all(text[:MOST_CHARS]):
        found[key + lexeme] = None
        if len(found) >= MOST_LEXEMES:
            break
    return list(found)


def key_of(owner: UUID) -> str:
    """Short, for every lexeme has it. Two people may have the same: the rows have their owner besides."""
    return owner.hex[:5]


def _all(text: str) -> Iterator[str]:
    words = dict.fromkeys(tokens_of(text))
    # Whole words first: what is cut off at the limit is insides.
    yield from words
    for run in _UNSPACED.findall(text):
        yield fold(run[-1])
    for word in words:
        yield from _insides(word)


def _insides(word: str) -> Iterator[str]:
    if len(word) >= LEAST_COMPOUND and word.isalpha():
        for start in range(1, len(word) - LEAST_INSIDE + 1):
            yield _INSIDE + word[start:]


def all_of(wanted: Sought, owner: UUID) -> str:
    """As Postgres reads a tsquery. Empty if there is no word."""
    return " & ".join(_beginning(word, key_of(owner), is_last=word == wanted.last) for word in wanted.words)


def each_of(wanted: Sought, owner: UUID) -> list[str]:
    """A query of its own for each of the first words that say something."""
    words = [word for word in wanted.words if word not in _STOP_WORDS] or list(wanted.words)
    return [_beginning(word, key_of(owner), is_last=word == wanted.last) for word in words[:MOST_ALONE]]


def whole(wanted: Sought, owner: UUID) -> str:
    """For what has all of these words as they were written."""
    return " & ".join(_quoted(key_of(owner) + word) for word in wanted.words)


def _beginning(word: str, key: str, *, is_last: bool) -> str:
    if _UNSPACED.fullmatch(word):
        return _quoted(key + word) + (":*" if len(word) == 1 else "")
    if len(word) < LEAST_BEGINNING and not is_last:
        return _quoted(key + word)
    beginning = f"{_quoted(key + word)}:*"
    if len(word) < LEAST_INSIDE or not word.isalpha():
        return beginning
    return f"({beginning} | {_quoted(key + _INSIDE + word)}:*)"


def _quoted(lexeme: str) -> str:
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


# ── Excerpts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

EXCERPT_CHARS: Final = 220
LEAD_CHARS: Final = 50
LONGEST_LOOKED_AT: Final = 200_000
Piece = tuple[str, bool]
# What may be long stops at what it begins with: so the whole takes no longer than the text is long.
_MARKUP: Final = re.compile(
    r"!?\[([^\[\]\n]*)\]\([^)\[\n]*\)|^[ \t]*(?:#{1,6}|>|[-*+]|\|)[ \t]+|[*_`~]{2,}|[*`]|\|[ :|-]+\|?", re.MULTILINE
)


def plain(text: str) -> str:
    """Markdown as one line of words."""
    return one_line(_MARKUP.sub(lambda found: found.group(1) or " ", text[:LONGEST_LOOKED_AT]))


def excerpt(text: str, wanted: Sought, *, chars: int = EXCERPT_CHARS) -> list[Piece]:
    """The stretch of the text in which most of the words stand, as pieces with whether each is one of them. The
    beginning if none does."""
    spots = places(text, wanted)
    start = _best_start(spots, chars)
    end = min(len(text), start + chars)
    if start:
        # At the beginning of a word, if that is before the first of those that are looked for.
        first = next(spot for spot, _ in spots if spot >= start)
        start = text.find(" ", start, first) + 1 or start
    if end < len(text) and (space := text.rfind(" ", end - LEAD_CHARS, end)) > start:
        end = space
    pieces = marked(text[start:end], [(a - start, b - start) for a, b in spots if a >= start and b <= end])
    return [*([("… ", False)] if start else []), *pieces, *([(" …", False)] if end < len(text) else [])]


def marked(text: str, spots: Iterable[tuple[int, int]]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for start, end in spots:
        pieces += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [piece for piece in [*pieces, (text[at:], False)] if piece[0]]


def places(text: str, wanted: Sought) -> list[tuple[int, int]]:
    """Where the words stand, in order, none over another."""
    pattern = _pattern(wanted)
    if pattern is None:
        return []
    folded, offsets = _folded(text)
    found: list[tuple[int, int]] = []
    for match in pattern.finditer(folded):
        start, end = offsets[match.start()], offsets[match.end() - 1] + 1
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def _pattern(wanted: Sought) -> re.Pattern[str] | None:
    # Longest first: of two that begin at the same place the longer is marked.
    words = sorted(dict.fromkeys([*wanted.said, *wanted.words]), key=len, reverse=True)
    parts = [_part(word) for word in words if word]
    return re.compile("|".join(parts)) if parts else None


def _part(word: str) -> str:
    if _UNSPACED.search(word) or len(word) >= LEAST_INSIDE:
        return re.escape(word)
    return rf"(?<![^\W_]){re.escape(word)}" + ("" if len(word) >= LEAST_BEGINNING else r"(?![^\W_])")


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The text as words are compared, and for each of its characters where it stands in the text itself."""
    if text.isascii():
        return text.lower(), range(len(text))
    known: dict[str, str] = {}
    letters, offsets = [], []
    for place, character in enumerate(text):
        piece = known.get(character)
        if piece is None:
            piece = known[character] = fold(character)
        letters.append(piece)
        offsets += [place] * len(piece)
    return "".join(letters), offsets


def _best_start(spots: Sequence[tuple[int, int]], chars: int) -> int:
    """Where to begin, so that as many places as can be are within `chars`."""
    if not spots:
        return 0
    best, most, last = 0, 0, 0
    for first in range(len(spots)):
        last = max(last, first)
        while last < len(spots) and spots[last][1] <= spots[first][0] + chars - LEAD_CHARS:
            last += 1
        if last - first > most:
            best, most = first, last - first
    return max(0, spots[best][0] - LEAD_CHARS)
