"""A request that is too long for its model, with less of its longest texts. Pure.

Which model reads how much is nobody's to know beforehand: providers say it only by refusing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agents.guardrails.quoting import END, QUOTED
from agents.tools.clip import clip
from hyperagent.lib.llm.types import ModelRequest, Role

SHARES: Final = (0.5, 0.25, 0.1)
"""Of the texts that were to be read, by tries. Instructions and tools are beside them, however long they are."""
LEAST_CHARS: Final = 200
"""A text of which less would be left tells nothing any more."""
# Marks around what others wrote stay where they are: what stands between them is cut, each text by itself.
_MARKS: Final = re.compile(
    rf"(</?(?:untrusted|message|notes_so_far|project-instructions)\b[^<>\n]*>|{re.escape(QUOTED)}|{re.escape(END)})"
)


def tries(request: ModelRequest) -> Iterator[ModelRequest]:
    """The request as it is, then ever shorter, as far as that is possible."""
    yield request
    for share in SHARES:
        if (shorter := shortened(request, share)) is None:
            return
        yield shorter


def shortened(request: ModelRequest, share: float) -> ModelRequest | None:
    """With at most `share` (0..1) of its texts: the longest of them lose their middle, all down to one length.
    Instructions, marks, tools and their calls stay whole. None where too little would be left of the texts."""
    begins_with_instructions = bool(request.messages) and request.messages[0].role is Role.SYSTEM
    first = int(begins_with_instructions)
    texts = [_MARKS.split(message.content) for message in request.messages[first:]]
    lengths = [len(part) for parts in texts for part in parts[::2]]
    limit = _most_of_each(lengths, int(share * sum(lengths)))
    if limit < LEAST_CHARS:
        return None
    shorter = [
        message.model_copy(update={"content": "".join(_clipped(parts, limit))})
        for message, parts in zip(request.messages[first:], texts, strict=True)
    ]
    return request.model_copy(update={"messages": (*request.messages[:first], *shorter)})


def _clipped(parts: Sequence[str], limit: int) -> Iterator[str]:
    """Every second of the parts is a mark."""
    for place, part in enumerate(parts):
        yield part if place % 2 else clip(part, limit)


def _most_of_each(lengths: Sequence[int], room: int) -> int:
    """The greatest length to which all of these can be cut so that together they have room; 0 if there is none."""
    for place, length in enumerate(sorted(lengths)):
        each = room // (len(lengths) - place)
        if length > each:
            return each
        room -= length
    return max(lengths, default=0)
