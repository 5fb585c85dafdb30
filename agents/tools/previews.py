"""How people see a call that they are asked about: a mail as a mail, code as code, a change as a diff. Pure functions
of the arguments, and of what a file has now (`agents.tools.diffing` reads it).

All of it is text of a model, to be shown as text. Whatever a preview leaves out, the arguments beside it have.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

Preview = Callable[[Mapping[str, Any]], dict[str, Any]]
DIFF_CHARS: Final = 40_000
DIFF_LINES: Final = 1_000
"""Of each side of a diff so much is shown."""
LINES_AROUND: Final = 20


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A table of the arguments, as they stand."""
    return {"kind": "arguments"}


def mail(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A mail, or the answer to one (`message_id`)."""
    shown = {
        "kind": "mail",
        "to": _texts(arguments.get("to")),
        "cc": _texts(arguments.get("cc")),
        "bcc": _texts(arguments.get("bcc")),
        "subject": _text(arguments.get("subject")),
        "body": _text(arguments.get("body")),
        "in_reply_to": _text(arguments.get("message_id")),
    }
    files = [_file(one) for one in arguments.get("attachments") or ()]
    own = {"from": _text(arguments.get("account"))} if arguments.get("account") else {}
    return {**shown, **own, **({"attachments": files} if files else {})}


def draft(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A draft that is sent as it is."""
    return mail(arguments.get("draft") or {})


def code(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "code",
        "language": _text(arguments.get("language")) or "python",
        "code": _text(arguments.get("code")),
    }


def command(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a shell."""
    return {"kind": "code", "language": "bash", "code": _text(arguments.get("command"))}


@dataclass(frozen=True, slots=True)
class Change:
    """A text that takes the place of another. `note`: what else people have to know, one of the words below."""

    before: str
    after: str
    note: str = ""


NEW, UNREADABLE, MISFIT, CLIPPED = "new", "unreadable", "misfit", "clipped"
"""There was no file; it is no text that can be shown; it does not have the passage that is to be replaced; of the lines
that differ only the first are shown."""


def diff(path: str, change: Change, *, is_there: bool) -> dict[str, Any]:
    """A file as it is against what it would be: whole, or in long ones what differs and the lines around it."""
    before, after, is_clipped = _clipped(change.before, change.after)
    note = NEW if not is_there and change.note == UNREADABLE else change.note
    notes = [*filter(None, [note]), *([CLIPPED] if is_clipped else [])]
    return {"kind": "diff", "path": path, "before": before, "after": after, **({"notes": notes} if notes else {})}


def _clipped(before: str, after: str) -> tuple[str, str, bool]:
    """Both texts, and whether lines that differ were left out."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if _fits(old) and _fits(new):
        return before, after, False
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first = max(start - LINES_AROUND, 0)
    parts = [lines[first : len(lines) - max(end - LINES_AROUND, 0)] for lines in (old, new)]
    shown = ["".join(lines[:DIFF_LINES])[:DIFF_CHARS] for lines in parts]
    return shown[0], shown[1], not all(map(_fits, parts))


def _fits(lines: Sequence[str]) -> bool:
    return len(lines) <= DIFF_LINES and sum(map(len, lines)) <= DIFF_CHARS


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many they begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    """A file that goes along: its name or path, and how large it is."""
    return {"name": _text(file.get("path") or file.get("name")), "size_bytes": int(file.get("size_bytes") or 0)}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []
