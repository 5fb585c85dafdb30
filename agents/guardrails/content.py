"""Takes their force from texts of others, before a result is recorded and any model reads it: what cannot be seen goes,
marks by which models are told who speaks become ordinary characters, and sentences that read like instructions stand as
quotations. Nothing that a person could read is lost.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from agents.guardrails.aside import Clock, look
from agents.guardrails.judging import Verdict, judge
from agents.guardrails.quoting import END, NO_QUOTES, QUOTED, UNSEEN, WEAK
from agents.guardrails.reporting import EXCERPT_CHARS, Act, FindingSummary, lines_of, tell_lines
from agents.guardrails.scanner import Certainty, Place, Scanner, Subject
from agents.guardrails.settings import GuardSettings
from agents.runtime.context import AgentContext

NAME: Final = "content"
SENTENCE_CHARS: Final = 400
"""How far a sentence is looked for on either side of what was found in it."""
_OF_SOURCES: Final = ("source", "section", "excerpt")
_NO_QUOTES: Final = str.maketrans(NO_QUOTES)
_HIDDEN: Final = re.compile(
    f"[{UNSEEN}]"
    "|[\ufe00-\ufe0f](?=[\ufe00-\ufe0f])|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]|(?<=[\x00-\x7f])[\ufe00-\ufe0e]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])|[\u200c\u200d](?=[\u200c\u200d])"
)
# Of these pages are full for good reasons: soft hyphens, byte order marks, a zero-width space.
_TELLING: Final = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|[\u200b-\u200d\u2060-\u2064\ufeff]{4}")

_NAMES: Final = "system|assistant|developer|human|user|tool|function|model"
_MARKS: Final = re.compile(
    r"<\|[\w/. -]{1,40}\|>|<｜[^<>｜]{1,40}｜>"
    r"|\[/?INST\]|<</?SYS>>|\[/?SYSTEM_PROMPT\]|\[/?AVAILABLE_TOOLS\]|\[/?TOOL_RESULTS\]"
    r"|</?(?:start_of_turn|end_of_turn|bos|eos|system|assistant|system_prompt|system-reminder|developer|tool_call"
    r"|tool_response|function_calls?|antml:[a-z_]{1,30})(?:\s{1,3}[^<>\n]{0,80})?>"
    rf"|(?m:^[ \t]{{0,8}}(?:#{{2,4}}[ \t]{{0,3}})(?:{_NAMES}|instruction|response)s?[ \t]{{0,3}}:)",
    re.IGNORECASE,
)
_WEAK: Final = str.maketrans(WEAK)
_SENTENCE_END: Final = re.compile(r"[.!?。！？](?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Neutral:
    """A result without its force, and what is told of it."""

    kept: dict[str, Any]
    lines: tuple[FindingSummary, ...] = ()


async def look_at_result(
    context: AgentContext, kept: dict[str, Any], *, tool: str, scanners: Sequence[Scanner] | None = None
) -> dict[str, Any]:
    """What is recorded in the place of a result, within the step that records it; people are told what was found."""
    taking = partial(neutralised, kept, tool, context.run.settings.guards, scanners)
    neutral = await look(taking, chars=sum(len(text) for text in _texts(kept)))
    tell_lines(context, neutral.lines, tool=tool, call_id=context.call_id)
    return neutral.kept


def neutralised(
    kept: dict[str, Any],
    tool: str,
    settings: GuardSettings,
    scanners: Sequence[Scanner] | None = None,
    clock: Clock = time.perf_counter,
) -> Neutral:
    """`kept`: as a step keeps a result (`agents.tools.replies.stored`). Pure, but for the time that it may take."""
    if not settings.looks_at(Place.CONTENT):
        return Neutral(kept)
    cleaned = {text: plain(text) for text in dict.fromkeys(_texts(kept))}
    # The bare word of an identifier or an address tells nobody to do anything.
    judged = list(dict.fromkeys(text for text in cleaned.values() if " " in text.strip()))
    texts = [(Subject(tool, "result"), text) for text in judged]
    verdict = judge(texts, place=Place.CONTENT, settings=settings, scanners=scanners, clock=clock)
    spans: dict[str, list[tuple[int, int]]] = {}
    if verdict.late and settings.strict:
        # What nobody has looked at is a quotation as a whole.
        spans = {text: [(0, len(text))] for text in judged}
    for one, number in zip(verdict.findings, verdict.of, strict=True):
        spans.setdefault(judged[number], []).append(sentence_around(judged[number], one.start, one.end))
    made = {text: quoted(clean, spans.get(clean, ())) for text, clean in cleaned.items()}
    after: dict[str, Any] = _with_texts(kept, made)
    after["chars"] = kept["chars"] + len(after["content"]) - len(kept["content"])
    return Neutral(after, (*_own_lines(list(cleaned)), *lines_of(_each_once(verdict, judged), judged)))


def neutral_text(text: str, *, settings: GuardSettings) -> tuple[str, tuple[FindingSummary, ...]]:
    """The same for a text of others that no tool brought."""
    found = neutralised({"content": text, "sources": [], "chars": len(text)}, tool="", settings=settings)
    return str(found.kept["content"]), found.lines


def plain(text: str) -> str:
    """Without what cannot be seen, and without marks that mean something to a model."""
    seen = text if text.isascii() else _HIDDEN.sub("", text)
    return _MARKS.sub(lambda mark: mark[0].translate(_WEAK), seen)


def quoted(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with these parts of it as quotations, which nothing inside can end."""
    if not spans:
        return text
    pieces, at = [], 0
    for start, end in merged(spans):
        pieces += [text[at:start].translate(_NO_QUOTES), QUOTED, text[start:end].translate(_NO_QUOTES), END]
        at = end
    return "".join([*pieces, text[at:].translate(_NO_QUOTES)])


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """From where the sentence begins that this part of the text is in, to where it ends."""
    first = max(0, start - SENTENCE_CHARS)
    begins = max((one.end() for one in _SENTENCE_END.finditer(text, first, start)), default=first)
    after = _SENTENCE_END.search(text, max(start, end - 1), min(len(text), end + SENTENCE_CHARS))
    ends = min(len(text), end + SENTENCE_CHARS) if after is None else after.end() - (after[0] == "\n")
    begins += len(text[begins:start]) - len(text[begins:start].lstrip())
    return begins, max(ends, end)


# --- inside


def _texts(kept: Mapping[str, Any]) -> Iterator[str]:
    """Every text of a result that a model or an agent's code may come to read."""
    yield kept["content"]
    yield from _strings(kept.get("data"))
    for source in kept["sources"]:
        yield from (source[name] for name in _OF_SOURCES if isinstance(source.get(name), str))


def _strings(value: Any) -> Iterator[str]:
    level = [value]
    while level:
        item = level.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            level += reversed(item.values())
        elif isinstance(item, list):
            level += reversed(item)


def _with_texts(kept: Mapping[str, Any], made: Mapping[str, str]) -> dict[str, Any]:
    after = {**kept, "content": made[kept["content"]]}
    if "data" in kept:
        after["data"] = _exchanged(kept["data"], made)
    after["sources"] = [
        {name: made[value] if name in _OF_SOURCES and isinstance(value, str) else value for name, value in one.items()}
        for one in kept["sources"]
    ]
    return after


def _exchanged(value: Any, made: Mapping[str, str]) -> Any:
    match value:
        case str():
            return made[value]
        case dict():
            return {name: _exchanged(item, made) for name, item in value.items()}
        case list():
            return [_exchanged(item, made) for item in value]
        case _:
            return value


def _each_once(verdict: Verdict, texts: Sequence[str]) -> Verdict:
    """The same words stand in what a model reads and in the value behind it: told once."""
    first: dict[tuple[str, str, str], int] = {}
    for at, one in enumerate(verdict.findings):
        first.setdefault((one.scanner, one.kind, texts[verdict.of[at]][one.start : one.end]), at)
    kept = tuple(first.values())
    return replace(
        verdict, findings=tuple(verdict.findings[at] for at in kept), of=tuple(verdict.of[at] for at in kept)
    )


def _own_lines(texts: Sequence[str]) -> Iterator[FindingSummary]:
    """Of what `plain` changed, what an ordinary page or mail has no reason for. `texts`: as they were."""
    hidden = max((len(_TELLING.findall(text)) for text in texts if not text.isascii()), default=0)
    if hidden:
        yield _own_line("hidden_characters", "Characters that nobody sees were taken out.", hidden, "")
    marks = {text: found for text in texts if (found := [mark[0] for mark in _MARKS.finditer(text)])}
    if marks:
        most = max(marks.values(), key=len)
        shown = " ".join(dict.fromkeys(mark.strip() for mark in most))[:EXCERPT_CHARS]
        yield _own_line("chat_marks", "Marks by which models are told who speaks lost their meaning.", len(most), shown)


def _own_line(kind: str, reason: str, count: int, excerpt: str) -> FindingSummary:
    return FindingSummary(
        place=Place.CONTENT.value,
        scanner=NAME,
        kind=kind,
        certainty=Certainty.SUSPECTED.value,
        action=Act.QUOTE.value,
        reason=reason,
        excerpt=excerpt,
        count=count,
    )
