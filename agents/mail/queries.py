"""Gmail's search syntax as an IMAP search: the part of it that every server can answer. Pure.

What IMAP cannot say (labels, categories) is left out rather than refused: more is found, not less.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final

Term = tuple[str, ...]
"""A search key and what it takes. Key words are ours; what follows `TEXT` and the like is the user's text."""

MAX_TERMS: Final = 30
_WORD: Final = re.compile(
    r"""(?P<minus>-)?(?:(?P<name>[a-zA-Z]\w{0,20}):)?(?:"(?P<quoted>[^"]*)"|\((?P<group>[^()]*)\)|(?P<plain>[^\s"(){}]+))"""
)
_AGE: Final = re.compile(r"^(\d{1,4})([dmy])$")
_DAYS: Final = {"d": 1, "m": 30, "y": 365}
_FIELDS: Final = {"from": "FROM", "to": "TO", "cc": "CC", "bcc": "BCC", "subject": "SUBJECT"}
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


def terms_of(query: str, *, today: date) -> list[Term]:
    """What a mail has to fit, all of it. Nothing fits everything."""
    alternatives: list[list[Term]] = []
    wants_other = False
    for match in list(_WORD.finditer(query))[:MAX_TERMS]:
        if match["plain"] == "OR" and match["name"] is None:
            wants_other = bool(alternatives)
            continue
        found = _terms(match, today)
        if match["minus"]:
            found = [("NOT", *_all(found))] if found else []
        if not found:
            continue
        if wants_other:
            alternatives[-1] = [("OR", *_all(alternatives[-1]), *_all(found))]
        else:
            alternatives.append(found)
        wants_other = False
    return [term for found in alternatives for term in found]


def search_line(terms: Sequence[Term], *, literals: bool) -> bytes:
    """The arguments of SEARCH. `literals`: whether the server takes text with its length before it, which every text
    can be sent as; else text that is not ASCII goes in quotes, which most servers read."""
    words = [_written(term, literals=literals) for term in terms] or [b"ALL"]
    line = b" ".join(words)
    return line if line.isascii() else b"CHARSET UTF-8 " + line


def _terms(match: re.Match[str], today: date) -> list[Term]:
    name = (match["name"] or "").lower()
    value = match["quoted"] if match["quoted"] is not None else match["group"] or match["plain"] or ""
    value = " ".join(value.split())
    if not value:
        return []
    found: list[Term | None]
    if name in _FIELDS:
        # Within brackets every word has to be there.
        values = value.split() if match["group"] is not None else [value]
        found = [(_FIELDS[name], one) for one in values if one != "OR"]
    elif name in _OTHERS:
        found = [_OTHERS[name](value)]
    elif name in _DATES:
        day = _day(name, value, today)
        found = [(_DATES[name], _imap_day(day)) if day else None]
    elif name in _NOT_IN_IMAP:
        found = []
    else:
        found = [("TEXT", f"{match['name']}:{value}" if name else value)]
    return [term for term in found if term]


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
