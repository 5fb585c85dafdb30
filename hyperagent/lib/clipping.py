"""How a text is shortened: each of these gives at most `limit` characters, the mark that says so included, and leaves
alone what fits. Knows nobody's limits. Pure.
"""

import re
from collections.abc import Callable
from typing import Any, Final

ELLIPSIS: Final = "…"
MIDDLE: Final = "\n[…]\n"
TRUNCATED: Final = "[...truncated]"

_SENTENCE_END: Final = re.compile(r"[.!?…][\"'”»)\]]*(?=\s)|[。！？]")


def one_line(text: str) -> str:
    """Line ends, and any other white space, as single spaces; none at either end."""
    return " ".join(text.split())


def beginning(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1]}{ELLIPSIS}" if limit > 0 else ""


def tidy_beginning(text: str, limit: int) -> str:
    """As `beginning`, with no white space ahead of the mark."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rstrip()}{ELLIPSIS}" if limit > 0 else ""


def whole_words(text: str, limit: int) -> str:
    """As `beginning`, without a word that is cut, or its comma; of a single long word, as much as there is room for."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rsplit(' ', 1)[0].rstrip(' ,;:.-')}{ELLIPSIS}" if limit > 0 else ""


def at_a_boundary(text: str, limit: int) -> str:
    """Ended where a reader would: after a paragraph if that keeps more than 60 % of the limit, after a sentence (50 %),
    after a word (40 %); else anywhere, and only then with a mark."""
    if len(text) <= limit:
        return text
    head = text[: max(0, limit)]
    paragraph = head.rfind("\n\n")
    sentence = max((m.end() for m in _SENTENCE_END.finditer(text, 0, limit + 1) if m.end() <= limit), default=0)
    word = max((m.start() for m in re.finditer(r"\s", text[: limit + 1])), default=0)
    for end, share in ((paragraph, 0.6), (sentence, 0.5), (word, 0.4)):
        kept = head[: max(0, end)].rstrip()
        if len(kept) > share * limit:
            return kept
    if limit < len(TRUNCATED):
        return head
    return head[: limit - len(TRUNCATED)] + TRUNCATED


def ending(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{ELLIPSIS}{text[len(text) - limit + 1 :]}" if limit > 0 else ""


def both_ends(text: str, limit: int, *, mark: str = MIDDLE) -> str:
    """Beginning and end, where most of what matters stands: two thirds of the room for the beginning."""
    if len(text) <= limit:
        return text
    room = limit - len(mark)
    if room <= 0:
        return beginning(text, limit)
    head = room * 2 // 3
    return f"{text[:head]}{mark}{text[len(text) - room + head :]}"


def in_strings(value: Any, cut: Callable[[str], str]) -> Any:
    """The same JSON value with each string in it cut; names of fields stay."""
    match value:
        case str():
            return cut(value)
        case dict():
            return {key: in_strings(item, cut) for key, item in value.items()}
        case list():
            return [in_strings(item, cut) for item in value]
        case _:
            return value
