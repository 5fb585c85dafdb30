"""Gmail's search syntax as an IMAP search: the part of it that every server can answer. Pure.

What IMAP cannot say (labels, categories) is left out rather than refused: more is found, not less.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import reduce
from itertools import islice
from typing import Final

from hyperagent.lib.clipping import one_line

Term = tuple[str, ...]
"""A search key and what it takes. Key words are ours; what follows `TEXT` and the like is the user's text."""
_Part = list[Term] | None
"""Terms that all have to fit: none where nothing was said. None: what IMAP cannot say, which everything fits then."""

MAX_WORDS: Final = 60
"""Of a query, brackets counted."""
_WORD: Final = re.compile(
    r"""(?P<minus>-)?(?:(?P<name>[a-zA-Z]\w{0,20}):)?(?:"(?P<quoted>[^"]*)"|(?P<opens>[({])|(?P<plain>[^\s"(){}]+))"""
    r"""|(?P<closes>[)}])"""
)
_ME: Final = "me"
_AGE: Final = re.compile(r"^(\d{1,4})([dmy])$")
_DAYS: Final = {"d": 1, "m": 30, "y": 365}
_FIELDS: Final = {"from": "FROM", "to": "TO", "cc": "CC", "bcc": "BCC", "subject": "SUBJECT"}
_ADDRESSES: Final = frozenset(("from", "to", "cc", "bcc"))
_STATES: Final[dict[str, Term]] = {
    "unread": ("UNSEEN",),
    "read": ("SEEN",),
    "starred": ("FLAGGED",),
    "important": ("FLAGGED",),
    "answered": ("ANSWERED",),
}
_DATES: Final = {
    **dict.fromkeys(("after", "newer", "newer_than"), "SINCE"),
    **dict.fromkeys(("before", "older", "older_than"), "BEFORE"),
}
_NOT_IN_IMAP: Final = ("in", "label", "category", "filename", "list")
_SIZE: Final = re.compile(r"^(\d{1,9})([kKmM]?)$")
_UNITS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TAKES_TEXT: Final = frozenset({"FROM", "TO", "CC", "BCC", "SUBJECT", "TEXT"})


def terms_of(query: str, *, today: date, own: str = "") -> list[Term]:
    """What a mail has to fit, all of it. Nothing fits everything. `own`: the address that `me` stands for."""
    reading = _Reading(list(islice(_WORD.finditer(query), MAX_WORDS)), today, own)
    parts = []
    while not reading.is_over:
        parts += reading.parts()
    return _all_of(parts) or []


def search_line(terms: Sequence[Term], *, literals: bool) -> bytes:
    """The arguments of SEARCH. `literals`: whether the server takes text with its length before it, which every text
    can be sent as; else text that is not ASCII goes in quotes, which most servers read."""
    words = [_written(term, literals=literals) for term in terms] or [b"ALL"]
    line = b" ".join(words)
    return line if line.isascii() else b"CHARSET UTF-8 " + line


class _Reading:
    """Of a query's words, from the first to the last."""

    def __init__(self, words: list[re.Match[str]], today: date, own: str) -> None:
        self._words = words
        self._at = 0
        self._today = today
        self._own = own

    @property
    def is_over(self) -> bool:
        return self._at == len(self._words)

    def parts(self, name: str = "") -> list[_Part]:
        """Up to the end, or that of the brackets that it is within; `name`: what stands before those."""
        parts: list[_Part] = []
        wants_other = False
        while not self.is_over:
            word = self._next()
            if word["closes"]:
                break
            if word["plain"] in ("OR", "AND") and not (word["name"] or word["minus"]):
                wants_other = word["plain"] == "OR" and bool(parts)
                continue
            part = self._part(word, name)
            if part == []:
                continue
            if wants_other:
                parts[-1] = _either(parts[-1], part)
            else:
                parts.append(part)
            wants_other = False
        return parts

    def _next(self) -> re.Match[str]:
        self._at += 1
        return self._words[self._at - 1]

    def _part(self, word: re.Match[str], within: str) -> _Part:
        part = self._said(word, word["name"] or within)
        return [("NOT", *_all(part))] if part and word["minus"] else part

    def _said(self, word: re.Match[str], name: str) -> _Part:
        """Within brackets every word has to be there, within braces one of them."""
        match word["opens"]:
            case "(":
                return _all_of(self.parts(name))
            case "{":
                parts = self.parts(name)
                return reduce(_either, parts) if parts else []
        plain = word["plain"] or ""
        if plain.endswith(":") and plain[:-1].lower() in _NAMES:
            # What it is about stands behind a blank.
            following = None if self.is_over or self._words[self._at]["closes"] else self._next()
            return [] if following is None else self._part(following, plain[:-1])
        value = one_line(word["quoted"] if word["quoted"] is not None else plain)
        return _terms(name, value, self._today, self._own) if value else []


def _all_of(parts: Sequence[_Part]) -> _Part:
    """None if there is something, and IMAP can say none of it."""
    terms = [term for part in parts for term in part or ()]
    return None if parts and not terms else terms


def _either(one: _Part, other: _Part) -> _Part:
    """If IMAP cannot say one of them, it cannot say that either fits."""
    return [("OR", *_all(one), *_all(other))] if one and other else None


def _terms(name: str, value: str, today: date, own: str) -> _Part:
    found: Term | None
    match name.lower():
        case known if known in _FIELDS:
            address = own if value.lower() == _ME and known in _ADDRESSES else value
            found = (_FIELDS[known], address) if address else None
        case known if known in _OTHERS:
            found = _OTHERS[known](value)
        case known if known in _DATES:
            day = _day(known, value, today)
            found = (_DATES[known], _imap_day(day)) if day else None
        case known if known in _NOT_IN_IMAP:
            found = None
        case _:
            found = ("TEXT", f"{name}:{value}" if name else value)
    return [found] if found else None


def _larger(value: str) -> Term | None:
    return _sized("LARGER", value)


def _smaller(value: str) -> Term | None:
    return _sized("SMALLER", value)


def _sized(key: str, value: str) -> Term | None:
    size = _SIZE.match(value)
    return (key, str(int(size[1]) * _UNITS[size[2].lower()])) if size else None


def _having(value: str) -> Term | None:
    """The nearest that IMAP has: mails of several parts, of which not all are other forms of the text."""
    return ("HEADER", "Content-Type", "multipart/mixed") if value.lower() == "attachment" else None


_OTHERS: Final[dict[str, Callable[[str], Term | None]]] = {
    "rfc822msgid": lambda value: ("HEADER", "Message-ID", value),
    "is": lambda value: _STATES.get(value.lower()),
    "has": _having,
    "larger": _larger,
    "larger_than": _larger,
    "smaller": _smaller,
    "smaller_than": _smaller,
}
_NAMES: Final = frozenset((*_FIELDS, *_OTHERS, *_DATES, *_NOT_IN_IMAP))


def _day(name: str, value: str, today: date) -> date | None:
    if name.endswith("_than"):
        age = _AGE.match(value.lower())
        try:
            return today - timedelta(days=int(age[1]) * _DAYS[age[2]]) if age else None
        except OverflowError:
            return None
    try:
        year, month, day = map(int, value.replace("-", "/").split("/"))
        return date(year, month, day)
    except ValueError:
        return None


def _imap_day(day: date) -> str:
    """English whatever the machine's language is."""
    return f"{day.day}-{_MONTHS[day.month - 1]}-{day.year}"


def _all(terms: list[Term]) -> Term:
    """Several as one, for where one is wanted."""
    if len(terms) == 1:
        return terms[0]
    return ("(", *(word for term in terms for word in term), ")")


def _written(term: Term, *, literals: bool) -> bytes:
    """Key words bare, texts quoted. Which word is a text is told by the word before it."""
    line = b""
    texts_to_come = 0
    for word in term:
        glue = b"" if not line or line.endswith(b"(") or word == ")" else b" "
        if texts_to_come:
            line += b" " * bool(line) + _text(word, literals=literals)
            texts_to_come -= 1
        else:
            line += glue + word.encode("ascii")
            texts_to_come = 1 if word in _TAKES_TEXT else 2 if word == "HEADER" else 0
    return line


def _text(text: str, *, literals: bool) -> bytes:
    """No end of line and no quote of the text ends the command or the quotes."""
    text = "".join(char if char.isprintable() else " " for char in text)
    encoded = text.encode("utf-8", "replace")
    if literals and not encoded.isascii():
        return b"{%d+}\r\n%s" % (len(encoded), encoded)
    return b'"' + encoded.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
