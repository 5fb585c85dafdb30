"""From a verdict to what is told of it: an event for people and a row for whoever looks after the guardrails.

What a row shows of a text is short and has no value in it. A recorded step keeps the lines as JSON, so that a replay
tells the same.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from agents.engine.events import Guardrail
from agents.guardrails.judging import Verdict
from agents.guardrails.scanner import Certainty, Finding, Place
from agents.runtime.outbox import Flagged
from hyperagent.lib.clipping import beginning, one_line

if TYPE_CHECKING:
    # The context itself tells what it found in what it streams.
    from agents.runtime.context import AgentContext

EXCERPT_CHARS: Final = 80
NAME_CHARS: Final = 64
REASON_CHARS: Final = 300
LATE: Final = "late"
"""The kind of a line about a scanner that was not asked, since the time was up."""
NOT_LOOKED_AT: Final = "The time to look at it was up."
_MASK: Final = "…"
# Beside what was found there may be values that this scanner does not look for.
_VALUE_LIKE: Final = re.compile(r"[^\s@]{0,80}@[^\s@]{0,80}|\d[\d .-]{2,40}\d")


class Act(StrEnum):
    """What was done about a finding."""

    BLOCK = "block"
    WARN = "warn"
    LOG = "log"
    REDACT = "redact"
    """A value was taken out of an answer."""
    QUOTE = "quote"
    """A text of others lost its force, and can still be read."""


@dataclass(frozen=True, slots=True)
class FindingSummary:
    """All findings of one scanner and kind in one text or call. `reason`: for people. `excerpt`: of the first."""

    place: str
    scanner: str
    kind: str
    certainty: str
    action: str
    reason: str
    excerpt: str = ""
    count: int = 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, noted: Mapping[str, Any]) -> Self:
        return cls(**noted)


def tell(
    context: "AgentContext",
    verdict: Verdict,
    texts: Sequence[str] = (),
    *,
    tool: str = "",
    call_id: str | None = None,
    action: Act | None = None,
) -> None:
    """An event and a row for each scanner and kind. `texts`: those that were judged, in their order. `action`: what was
    done about it, where that is not what the verdict asks for."""
    tell_lines(context, lines_of(verdict, texts, action=action), tool=tool, call_id=call_id)


def tell_lines(
    context: "AgentContext", lines: Sequence[FindingSummary], *, tool: str = "", call_id: str | None = None
) -> None:
    """The same for lines that a step has recorded."""
    for line in lines:
        body = Guardrail(
            scanner=line.scanner,
            action=line.action,
            reason=line.reason,
            place=line.place,
            kind=line.kind,
            tool=tool,
            call_id=call_id,
            count=line.count,
        )
        row = Flagged(context.agent.id, **line.as_json(), tool=tool[:NAME_CHARS])
        context.flag(body, row)


def lines_of(verdict: Verdict, texts: Sequence[str] = (), *, action: Act | None = None) -> tuple[FindingSummary, ...]:
    """In the order in which the scanners were asked."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(verdict.findings):
        groups.setdefault((one.scanner, one.kind), []).append(number)
    found = [_line(verdict, numbers, texts) for numbers in groups.values()]
    found += [_late(verdict, scanner) for scanner in verdict.late]
    return tuple(found if action is None else (replace(line, action=action) for line in found))


def _line(verdict: Verdict, numbers: Sequence[int], texts: Sequence[str]) -> FindingSummary:
    surest = next((at for at in numbers if verdict.findings[at].certainty is Certainty.CERTAIN), numbers[0])
    one = verdict.findings[surest]
    in_text = verdict.of[surest] if verdict.of else 0
    beside = [each for at, each in enumerate(verdict.findings) if (verdict.of[at] if verdict.of else 0) == in_text]
    return FindingSummary(
        place=verdict.place.value,
        scanner=one.scanner[:NAME_CHARS],
        kind=one.kind[:NAME_CHARS],
        certainty=one.certainty.value,
        action=_act(verdict, one.certainty),
        reason=one.reason[:REASON_CHARS],
        excerpt=excerpt(texts[in_text], one, beside) if in_text < len(texts) else "",
        count=len(numbers),
    )


def _late(verdict: Verdict, scanner: str) -> FindingSummary:
    refused = Act.QUOTE if verdict.place is Place.CONTENT else Act.BLOCK
    act = refused if verdict.refuses else Act.LOG
    return FindingSummary(verdict.place.value, scanner[:NAME_CHARS], LATE, "", act.value, NOT_LOOKED_AT)


def _act(verdict: Verdict, certainty: Certainty) -> str:
    """What is suspected is never refused; texts of others are not refused either."""
    if verdict.place is Place.CONTENT:
        return Act.QUOTE.value
    if certainty is Certainty.CERTAIN and verdict.action is not None:
        return str(verdict.action)
    return Act.LOG.value if verdict.action == "log" else Act.WARN.value


def excerpt(text: str, finding: Finding, beside: Sequence[Finding] = ()) -> str:
    """At most 80 characters: a phrase itself; a value without what it is, and a few words around it. `beside`: other
    findings of the text, whose values are masked too."""
    if not finding.replacement:
        return _clipped(text[finding.start : finding.end])
    room = (EXCERPT_CHARS - len(finding.replacement)) // 2
    left = max(0, finding.start - room)
    around = [one for one in beside if one.replacement and one.end > left and one.start < finding.end + room]
    before = _without_values(text, left, finding.start, around)
    after = _without_values(text, finding.end, min(len(text), finding.end + room), around)
    return _clipped(f"{before}{finding.replacement}{after}")


def _without_values(text: str, start: int, end: int, found: Sequence[Finding]) -> str:
    kept, at = "", start
    for one in sorted(found, key=lambda one: one.start):
        if one.end > at and one.start < end:
            kept += text[at : max(at, one.start)] + _MASK
            at = min(one.end, end)
    return _VALUE_LIKE.sub(_MASK, kept + text[at:end])


def _clipped(text: str) -> str:
    return beginning(one_line(text[: EXCERPT_CHARS * 4]), EXCERPT_CHARS)
