"""What becomes of a text among a call's arguments, told by the name of its field: it is fetched, executed, opened as a
file, or only read. So a tool that nobody has thought of is covered by what its fields are called. Pure.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from agents.guardrails.scanner import Subject

_FETCHED: Final = frozenset(
    ("url", "urls", "uri", "uris", "href", "hrefs", "link", "links", "endpoint", "endpoints", "webhook", "callback")
)
_EXECUTED: Final = frozenset(
    ("code", "script", "scripts", "command", "commands", "cmd", "shell", "bash", "program", "exec", "argv", "args")
)
_OPENED: Final = frozenset(
    (
        "path", "paths", "file", "files", "filename", "filenames", "filepath", "dir", "directory", "directories",
        "folder", "folders", "cwd", "destination", "dest",
    )
)  # fmt: skip
_READ: Final = frozenset(
    (
        "text", "body", "content", "contents", "message", "prompt", "query", "question", "description", "title",
        "subject", "comment", "note", "notes", "summary", "old", "new", "name", "task", "caption", "search", "q",
        "instructions", "reason", "on", "key", "slides", "reply", "answer", "html", "markdown", "data",
    )
)  # fmt: skip
"""Texts for people or models. What they say of addresses, commands and paths is only said."""

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ONE_ADDRESS: Final = re.compile(
    r"\s*[a-z][a-z0-9+.-]{1,24}:(?://|(?<=file:)|(?<=data:)|(?<=jar:))\S*\s*", re.IGNORECASE
)
_ONE_PATH: Final = re.compile(r"\s*(?:/|~|\.\.|%2e|[a-z]:\\|\\\\)\S*\s*", re.IGNORECASE)
_ADDRESS_CHARS: Final = 4_000


def is_fetched(subject: Subject, text: str) -> bool:
    words = _words(subject.field)
    if words & _FETCHED:
        return True
    return not words & _READ and len(text) <= _ADDRESS_CHARS and _ONE_ADDRESS.fullmatch(text) is not None


def is_executed(subject: Subject) -> bool:
    return bool(_words(subject.field) & _EXECUTED)


def is_opened(subject: Subject, text: str) -> bool:
    words = _words(subject.field)
    if words & _OPENED:
        return True
    unknown = not words & (_READ | _EXECUTED | _FETCHED)
    return unknown and len(text) <= _ADDRESS_CHARS and _ONE_PATH.fullmatch(text) is not None


def texts_of(tool: str, arguments: Any) -> Iterator[tuple[Subject, str]]:
    """Every text among the arguments, with the field that it stands in, such as `files.0.path`."""
    level: list[tuple[str, Any]] = [("", arguments)]
    while level:
        field, value = level.pop()
        prefix = f"{field}." if field else ""
        if isinstance(value, str):
            yield Subject(tool, field), value
        elif isinstance(value, dict):
            level += [(f"{prefix}{name}", item) for name, item in reversed(value.items())]
        elif isinstance(value, list):
            level += [(f"{prefix}{number}", item) for number, item in reversed(list(enumerate(value)))]


@lru_cache(2_000)
def _words(field: str) -> frozenset[str]:
    """Of the innermost name: `files.0.targetPath` is `target` and `path`."""
    names = [name for name in field.split(".") if not name.isdigit()]
    return frozenset(word.lower() for word in _WORDS.findall(names[-1])) if names else frozenset()
