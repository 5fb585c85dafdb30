"""Plans without a model: a question's parts by its words, each part's agent by the patterns, the edges by both. Pure.

This is how the bundled model can run several agents, and what an installation without a capable model plans by.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from agents.pipeline.clauses import Clause, Join, readable, without_first
from agents.pipeline.patterns import CHAT, agent_of, pieces_of, signals_of
from agents.pipeline.plans import INTENT_CHARS, MAX_TASKS, Plan, PlanTask, with_unique_ids

# These bring something in; the others work on what there is.
_BRINGS_IN: Final = frozenset({"rag", "web", "research"})
# Several things that one of these does with the same files and variables are one task.
_GOES_ON: Final = frozenset({CHAT, "code", "data"})
_SENDS = re.compile(
    r"\b(?:send|e-?mail|mail|forward|share|schick\w*|send\w*|mail\w*|verschick\w*|leite?)\b", re.IGNORECASE
)
# Words that point at what was found before.
_REFERS = re.compile(
    r"\b(?:it|its|them|they|that|this|these|those|both|the\s+two|all\s+of\s+(?:it|them)|the\s+results?|the\s+findings?|"
    r"the\s+answers?|the\s+output|the\s+summary|the\s+(?:report|analysis|numbers|chart|differences?|comparison)|accordingly|"
    r"based\s+on|using\s+(?:it|that|this|them)|from\s+(?:it|that|them)|with\s+(?:it|that|them)|"
    r"es|sie|ihn|das|dies|diese[nrsm]?|beide[sn]?|davon|damit|daraus|darüber|dazu|dafür|hierzu|beidem|"
    r"then|afterwards|dann|danach|anschlie(?:ß|ss)end|das\s+ergebnis|die\s+ergebnisse|den\s+ergebnissen|die\s+antwort|die\s+zusammenfassung|die\s+unterschiede|alles)\b",
    re.IGNORECASE,
)
# Work on several things at once waits for all of them, also without a word that points.
_GATHERS = re.compile(
    r"\b(?:both|the\s+two|everything|all\s+of\s+(?:it|them)|beide[sn]?|alles|compare|contrast|combine|merge|reconcile|summari[sz]e\s+(?:everything|all)|put\s+(?:it|them|everything)\s+together|"
    r"vergleiche?n?|kombinier\w*|fass\w*\s+alles|zusammenführ\w*|führe?\s+\w+\s+zusammen)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Part:
    """One agent's part while the plan is being made. `after`: positions of the parts that it waits for."""

    text: str
    agent: str
    after: tuple[int, ...] = ()


def plan_by_patterns(question: str, roster: Collection[str]) -> Plan | None:
    """The plan that the question's own words name; None if they name no more than one part, or too many.

    `roster`: the agents there are; the chat agent, or else the first of them, does what another one would.
    """
    parts: list[_Part] = []
    for clause in pieces_of(readable(question)):
        part = _part(clause, parts, roster)
        if _continues(part, clause, parts, says_who=bool(signals_of(clause.text))):
            last = parts[-1]
            parts[-1] = replace(last, text=f"{last.text}, {_AND_THEN[clause.join]}{part.text}")
        else:
            parts.append(part)
    if not 1 < len(parts) <= MAX_TASKS:
        return None
    tasks = tuple(
        PlanTask(id=str(number), agent=part.agent, task=part.text, depends_on=tuple(str(other) for other in part.after))
        for number, part in enumerate(parts)
    )
    return with_unique_ids(Plan(intent=question.strip()[:INTENT_CHARS], tasks=tasks, origin="patterns"))


_AND_THEN = {Join.START: "", Join.AND: "and ", Join.THEN: "then ", Join.ITEM: "then "}


def _part(clause: Clause, before: list[_Part], roster: Collection[str]) -> _Part:
    text = without_first(clause.text).strip(" .;,\n")
    agent = agent_of(text)
    if agent not in roster:
        agent = CHAT if CHAT in roster else min(roster)
    after = _open_ends(before) if _waits(text, agent, clause, before) else ()
    return _Part(text[:1].upper() + text[1:], agent, after)


def _waits(text: str, agent: str, clause: Clause, before: list[_Part]) -> bool:
    """Whether a part needs what came before it."""
    if not before:
        return False
    if clause.join is Join.THEN or _REFERS.search(text) or _GATHERS.search(text):
        return True
    if agent in _BRINGS_IN:
        return False
    if agent == "mail":
        return _SENDS.search(text) is not None
    return any(part.agent in _BRINGS_IN or part.agent == "mail" for part in before)


def _open_ends(parts: list[_Part]) -> tuple[int, ...]:
    """The parts that nothing waits for yet: what all of the work so far has come to."""
    awaited = {other for part in parts for other in part.after}
    return tuple(number for number in range(len(parts)) if number not in awaited)


def _continues(part: _Part, clause: Clause, before: list[_Part], *, says_who: bool) -> bool:
    """Whether a part goes on with the very last one in the same hands: then it is one task for one agent.

    `says_who`: whether its words point at an agent of their own. "Run it" is for whoever wrote it.
    """
    if not before or clause.join in (Join.THEN, Join.ITEM):
        return False
    follows = part.after == (len(before) - 1,)
    if part.agent == before[-1].agent:
        return follows or part.agent in _GOES_ON
    gathers = len(before) > 1 and _GATHERS.search(part.text) is not None
    return follows and not says_who and not gathers
