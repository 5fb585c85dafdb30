"""The process that reads one hostile file and ends. Started by `memory.reading.process` only; its answer is frames of
JSON, each after its length, on what was its standard output. It is limited before it looks at the file."""

import os
import struct
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # the interpreter is told of no folder but its own
    sys.path.insert(0, str(Path(__file__).parents[2]))

import orjson

from hyperagent.lib.child import end_with
from hyperagent.lib.yielding import yield_to_others
from memory.reading import confinement, reasons
from memory.reading.dates import date_of
from memory.reading.parsers import parse
from memory.reading.values import Facts, Head, Unreadable
from memory.values import Page

_LENGTH = struct.Struct(">I")
_DEATH_SIGNAL = 9
# A thirtieth of what others get who want all of it.
_NICE = 15
# A third: a run waits for it, and not for ever.
_NICE_IF_AWAITED = 5


def main() -> None:
    parent, request = int(sys.argv[1]), orjson.loads(sys.argv[2])
    end_with(parent, _DEATH_SIGNAL)
    # For a picture somebody waits who looks at the page.
    if request["do"] == "read":
        nice = _NICE_IF_AWAITED if request.get("is_awaited") else _NICE
        yield_to_others(nice)
        os.nice(nice)
    answers = os.dup(1)
    with Path(os.devnull).open("wb") as nowhere:
        # A library that prints must not speak among the frames.
        os.dup2(nowhere.fileno(), 1)
    confinement.confine(Path(request["path"]))
    try:
        for answer in _answers(request):
            _send(answers, answer)
        _send(answers, {"end": True})
    except Unreadable as reason:
        _send(answers, _refusal(reason))
    except MemoryError:
        _send(answers, _refusal(reasons.too_much_memory()))
    # No tidying up: some libraries crash in it.
    os._exit(0)


def _refusal(reason: Unreadable) -> dict[str, Any]:
    return {"unreadable": [reason.code, reason.message]}


def _answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    path = Path(request["path"])
    if request["do"] == "read":
        asked = {name: request[name] for name in ("doc_type", "filename", "first_page", "silent")}
        yield from _read(path, **asked)
    elif request["do"] == "picture":
        from memory.reading.parsers.picture import seen  # late, as below

        yield {"picture": seen(path, longest=request["longest"])}
    elif request["do"] == "count":
        from memory.reading.parsers.pdf_image import pages_in

        yield {"pages": pages_in(path)}
    else:
        from memory.reading.parsers.pdf_image import png_of  # late: it draws, and reading does not

        yield {"png": png_of(path, request["page"], width=request["width"])}


def _read(
    path: Path, *, doc_type: str, filename: str, first_page: int, silent: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The facts are sent with the first page in hand, for it may tell the date and the title."""
    head, facts, chars = Head(), None, 0
    for found in parse(path, doc_type=doc_type, filename=filename, first_page=first_page, silent=silent):
        if isinstance(found, Head):
            head = found
        elif isinstance(found, Page):
            if facts is None:
                facts = _facts(head, found, filename)
                yield _facts_frame(facts)
            chars += len(found.text)
            if found.number >= first_page:
                yield _page_frame(found)
        else:
            facts = facts or _facts(head, Page(number=1, text=""), filename)
            yield _facts_frame(Facts(found.total_pages, facts.title, facts.date, found.note))


def _facts(head: Head, first: Page, filename: str) -> Facts:
    # Of another page than the first the head of the text says nothing.
    text = first.text if first.number == 1 else ""
    today = datetime.now(UTC).date()
    return Facts(head.total_pages, head.title, date_of(text, filename, head.metadata, today=today))


def _facts_frame(facts: Facts) -> dict[str, Any]:
    day = facts.date.isoformat() if facts.date else ""
    return {"facts": {"total_pages": facts.total_pages, "title": facts.title, "date": day, "note": facts.note}}


def _page_frame(page: Page) -> dict[str, Any]:
    blocks = [[block.kind, block.level, block.start, block.end] for block in page.blocks]
    return {"page": {"number": page.number, "title": page.title, "text": page.text, "blocks": blocks}}


def _send(fd: int, answer: dict[str, Any]) -> None:
    raw = orjson.dumps(answer)
    left = memoryview(_LENGTH.pack(len(raw)) + raw)
    while left:
        left = left[os.write(fd, left) :]


if __name__ == "__main__":
    main()
