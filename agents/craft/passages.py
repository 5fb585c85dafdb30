"""Passages that an answer is made from, under the numbers by which it cites them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.craft.briefing import quoted
from agents.engine.events import Source
from agents.pipeline.citations import number
from hyperagent.lib.clipping import beginning, one_line


@dataclass(frozen=True, slots=True)
class Passage:
    source: Source
    text: str


def sources_of(passages: Sequence[Passage]) -> tuple[Source, ...]:
    """Their sources without doubles; the first is number 1."""
    return number([[passage.source for passage in passages]]).sources


def numbers_of(passages: Sequence[Passage]) -> list[int]:
    """For each passage the number of its source."""
    (mapping,) = number([[passage.source for passage in passages]]).mappings
    return [mapping[place] for place in range(1, len(passages) + 1)]


def told(passages: Sequence[Passage], *, limit: int, total: int) -> str:
    """For a prompt: each passage under its source's number, at most `limit` characters each and `total` in all. What
    pages and documents are called stands between the marks, too: others wrote it."""
    lines: list[str] = []
    for named, passage in zip(numbers_of(passages), passages, strict=True):
        room = min(limit, total)
        if room <= 0:
            break
        total -= min(room, len(passage.text))
        text = f"{_label(passage.source)}\n{beginning(passage.text, room)}"
        lines.append(f"[{named}]\n{quoted('source', text)}")
    return "\n".join(lines)


def _label(source: Source) -> str:
    place = [source.url or "", f"page {source.page}" if source.page else "", source.section or ""]
    return ", ".join([one_line(source.source), *filter(None, place)])
