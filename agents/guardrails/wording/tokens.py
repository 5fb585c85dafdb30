"""A folded text as words with their places. Knows which scripts part no words, and nothing of what words mean."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from agents.guardrails.folding import plain_letters

START: Final = "^"
END: Final = "$"
ADDRESS: Final = "ADDRESS"
QUESTION: Final = "QUESTION"
QUOTE: Final = "QUOTE"
ACCOUNT: Final = "ACCOUNT"
"""What stands for the beginning and end of a sentence, its question mark, a mail address, a quotation
mark and an account; the names of groups below stand for marks. Words of a text are never in capitals."""

# Letters of scripts that part words, with the vowel signs that Python does not count among letters.
_LETTERS: Final = (
    r"0-9a-z\u00aa\u00b5\u00ba\u00df-\u00f6\u00f8-\u02af\u0370-\u052f\u0531-\u0587\u05d0-\u05ea\u0620-\u0669\u066e-\u06d3"
    r"\u06e5-\u06ff\u0750-\u077f\u0900-\u0963\u0966-\u0dff\u10a0-\u10ff\u1e00-\u1fff\uac00-\ud7a3"
)
_UNPARTED: Final = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
# What most of a text is comes first. No run of signs is tried from its middle, or tried twice.
_TOKEN: Final = re.compile(
    rf"(?P<word>[{_LETTERS}]++(?:['@$!][{_LETTERS}]++)*+) ?"
    r"|(?P<end>[.!?;:\n\u061f\u0964\u3002\uff01\uff1f]++)"
    rf"|(?P<unspaced>[{_UNPARTED}]++)"
    rf"|(?P<QUOTE>[\"`]++|(?<![{_LETTERS}])'|'(?![{_LETTERS}]))"
    r"|(?P<STRONGMARK><\|(?:im_start|start_header_id)\|?>(?=system)"
    r"|(?<!#)#{2,}+ ?+\(?(?:system[_ ](?:message|prompt|instructions?)|(?:system|assistant) ?[:)]))"
    r"|(?P<MARK><\|(?:im_(?:start|end)|system|user|assistant|endoftext|eot_id|(?:start|end)_header_id|begin_of_text)\|?>"
    r"|\[/?inst\]|<</?sys>>|</?(?:system|assistant|system[_-]prompt|system[_-]message|system mode)>)"
    r"|(?P<SOFTMARK></?(?:important|information|instructions?|prompt|admin|override|user|context|task|query|data)>"
    r"|(?<!#)#{2,}+ ?+(?:instructions?|response|human|input|user)\b|\[/?(?:system|admin|system message|important)\])"
    r"|(?P<BOUNDARY>(?<![-=#*%_~])[-=#*%_~]{3,}+ ?+(?=end\b|begin\b|start\b|new\b|ende\b))"
    r"|(?P<CALLMARK></?(?:function_calls?|tool_calls?|tool_use|invoke)\b)"
    r"|(?P<ASSIGN>=)|(?P<PLUS>\+)"
)
_WORD, _END, _RUN = (_TOKEN.groupindex[name] for name in ("word", "end", "unspaced"))
_MARKS: Final = frozenset({"MARK", "SOFTMARK", "BOUNDARY", "CALLMARK", "STRONGMARK"})
_ASKING: Final = frozenset("?\u061f\uff1f")
_ACCOUNT: Final = re.compile(r"[a-z]{2}\d{2}[a-z0-9]{11,30}")
_DOMAIN: Final = re.compile(r"@[^\W_][\w-]{0,62}\.[a-z]")
_LONGEST_DOMAIN: Final = 66
_SHORTEST_ACCOUNT: Final = 15
# So many words further does the end of a sentence put what follows.
_APART: Final = 2
_LONGEST_QUOTATION: Final = 80
_RUN_TOGETHER: Final = 13
_LONGEST_RUN: Final = 400
_SHORTEST_PART: Final = 3
_LONGEST_PART: Final = 14
_SHORTEST_STEM: Final = 2
_LONGEST_STEM: Final = 12
_MOST_SEEN: Final = 20_000
_UNSPACED: Final = re.compile(f"[{_UNPARTED}]")


Token = tuple[str, int, int, int, bool]
"""A word, where it starts and ends, its place counted in words, to tell how far words are from each other, and whether
it stands in quotation marks. No class: a long text has thousands, and making them is what takes the time."""


class Vocabulary:
    """The words that rules know, folded: whatever else stands in a text is only counted."""

    def __init__(self, words: Iterable[str], stems: Iterable[str]) -> None:
        self._words = frozenset(words)
        self._stems = frozenset(stems)
        self._seen: dict[str, str] = {}
        self._unspaced: dict[str, list[str]] = {}
        for word in sorted(self._words, key=lambda one: (-len(one), one)):
            if _UNSPACED.match(word):
                self._unspaced.setdefault(word[0], []).append(word)

    def known(self, word: str) -> str:
        """The word, or what it stands for if its letters were swapped for others; "" if no rule knows it."""
        if (known := self._seen.get(word)) is None:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            known = self._looked_up(word)
            self._seen[word] = known
        return known

    def _looked_up(self, word: str) -> str:
        bare = word.replace("'", "")
        if self._has(bare):
            return bare
        if bare.isalpha() or bare.isdigit():
            return ""
        plain = plain_letters(bare)
        return plain if self._has(plain) else ""

    def _has(self, word: str) -> bool:
        longest = min(_LONGEST_STEM, len(word))
        return word in self._words or any(word[:long] in self._stems for long in range(_SHORTEST_STEM, longest + 1))

    def parted(self, word: str) -> list[tuple[str, int]]:
        """The longest known words first, from the left, with their offsets; what is between them is left out."""
        parts = []
        at = 0
        while at < len(word):
            for long in range(min(_LONGEST_PART, len(word) - at), _SHORTEST_PART - 1, -1):
                if (part := word[at : at + long]) in self._words:
                    parts.append((part, at))
                    at += long
                    break
            else:
                at += 1
        return parts

    def _word_at(self, run: str, at: int) -> str:
        for word in self._unspaced.get(run[at], ()):
            if run.startswith(word, at):
                return word
        return ""

    def parted_run(self, run: str) -> Iterator[tuple[str, int, int, int]]:
        """The same of a script without gaps, with how many words each is from the last one: two characters count as
        one. What is behind the last is counted with an empty one."""
        at, since = 0, 0
        while at < len(run):
            if word := self._word_at(run, at):
                yield word, at, at + len(word), 1 + (at - since) // 2
                at += len(word)
                since = at
            else:
                at += 1
        yield "", at, at, (at - since) // 2


def tokens(text: str, vocabulary: Vocabulary) -> Iterator[Token]:
    """Those that a rule may know."""
    at = 0
    open_since = -1
    yield START, 0, 0, at, False
    for found in _TOKEN.finditer(text):
        group = found.lastindex or 0
        word, start = found[group], found.start()
        end = start + len(word)
        quoted = open_since >= 0 and at - open_since < _LONGEST_QUOTATION
        if group == _WORD:
            at += 1
            if "@" not in word and (known := vocabulary.known(word)):
                yield known, start, end, at, quoted
            else:
                behind = text[end : end + _LONGEST_DOMAIN] if "@" in word else ""
                for part, offset in _parts(word, behind, vocabulary):
                    yield part, start + offset, min(start + offset + len(part), end), at, quoted
                    at += 1
        elif group == _RUN:
            for part, began, ended, steps in vocabulary.parted_run(word):
                at += steps
                yield part, start + began, start + ended, at, quoted
        elif group == _END:
            yield END, start, end, at + 1, quoted
            if not _ASKING.isdisjoint(word):
                yield QUESTION, start, end, at + 1, quoted
            if word.count("\n") > 1:
                open_since = -1
            at += _APART
            yield START, end, end, at, quoted
        else:
            sign = str(found.lastgroup)
            if sign == QUOTE:
                open_since = -1 if quoted else at
            yield sign, start, end, at + 1, quoted
            at += sign in _MARKS
    yield END, len(text), len(text), at + 1, False


def _parts(word: str, behind: str, vocabulary: Vocabulary) -> list[tuple[str, int]]:
    """What a word is that is none of the known ones, with where each part begins in it. `behind`: what follows it."""
    if "@" in word:
        if _DOMAIN.search(word + behind):
            return [(ADDRESS, 0)]
        return [(known, 0)] if (known := vocabulary.known(word)) else []
    if len(word) >= _SHORTEST_ACCOUNT and _ACCOUNT.fullmatch(word):
        return [(ACCOUNT, 0)]
    if not _RUN_TOGETHER <= len(word) <= _LONGEST_RUN:
        return []
    parts = vocabulary.parted(word)
    return parts if len(parts) > 1 else []
