"""The heuristic classifier (S7, S8): a table of patterns, and what follows from those that match. Pure, asks nobody.

Patterns know English and German. Where they tell nothing, or tell several things, the guess says that it is not sure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from agents.pipeline.clauses import (
    Clause,
    Join,
    asks,
    begins_with_verb,
    clauses_of,
    is_lone_word,
    readable,
    says_first,
    without_first,
)
from agents.pipeline.handoffs import targets_of
from agents.pipeline.replies import FEW_WORDS, is_small_talk, without_opening
from agents.pipeline.signals import SIGNALS, Signal
from agents.pipeline.steps import tells_steps

Kind = Literal["direct", "plan", "research"]
CHAT: Final = "chat"
PLANNER: Final = "planner"
KNOWN_AGENTS: Final = frozenset(signal.agent for signal in SIGNALS)
STRONG, CLEAR, WEAK = 3, 2, 1
_KEPT: Final = 64
SHORT_WORDS: Final = 30
# So many other agents that could be meant as well make even a strong signal doubtful.
MANY_HINTS: Final = 2
# Research searches the web by itself; a mail's text is the mail agent's to write.
_INCLUDES: Mapping[str, frozenset[str]] = {
    "research": frozenset({"web", "writing"}),
    "mail": frozenset({"writing"}),
    "data": frozenset({"code"}),
}
# In a part of a question these are meant by a hint, such as "write it up" or "calculate it"; the others are not.
_BY_A_HINT = frozenset({"code", "data", "writing"})
# Where two of these are clearly meant, one agent cannot do it.
_PLACES = frozenset({"rag", "web", "mail"})

_COMPLEX = re.compile(
    r"\banaly[sz]e\s+and\s+(?:compare|contrast|summari[sz]e|report)\b|\bcompare\s+and\s+analy[sz]e\b"
    r"|\bbuild\s+(?:me\s+)?(?:an?|the)\s+(?:[\w-]+\s+){0,3}(?:pipeline|workflow)\b|\bend[- ]to[- ]end\b"
    r"|\bmulti[- ]?(?:step|stage)\b|\bseveral\s+steps\b"
    r"|\banalysiere\w*\s+und\s+vergleiche\w*|\bvergleiche\w*\s+und\s+analysiere\w*"
    r"|\b(?:baue?|erstelle?|entwickle)\s+(?:mir\s+)?eine\w*\s+(?:[\w-]+\s+){0,3}[\w-]{0,30}pipeline\b|\bmehrstufig\w*",
    re.IGNORECASE,
)
_FIRST_THEN = re.compile(
    r"\bfirst\b.{1,400}?\bthen\b|\bstep\s+1\b.{1,400}?\bstep\s+2\b|\bschritt\s+1\b.{1,400}?\bschritt\s+2\b"
    r"|\b(?:zuerst|zunächst|erst|als\s+erstes)\b.{1,400}?\b(?:dann|danach|anschlie(?:ß|ss)end)\b",
    re.IGNORECASE | re.DOTALL,
)
# One of these words, and the patterns below can be trusted to have understood the rest.
_KNOWN_WORDS = re.compile(
    r"\b(?:the|is|are|am|does|did|can|could|may|shall|should|will|would|what|who|why|how|when|where|which|you|my|your|of|for|and|tell|make|give|"
    r"explain|please|help|translate|write|suggest|der|das|ein|eine|einen|ist|sind|wie|wer|warum|wann|welche[rsn]?|kann|"
    r"kannst|ich|mir|mich|mein|für|und|oder|bitte|hilf|erkläre?)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"(?:write|prepare|give|make|create|produce|schreibe?|erstelle?|verfasse?)\s+(?:me\s+|us\s+|mir\s+|uns\s+)?"
    r"(?:an?\s+|the\s+|einen?\s+)?(?:\w+\s+)?(?:report|summary|overview|bericht|überblick|zusammenfassung)\b",
    re.IGNORECASE,
)
_PASTED_CODE: Final = Signal("has code in it", "code", CLEAR, re.compile("```"))
_BOTH = re.compile(r"\b(?:and|und)\b", re.IGNORECASE)
# Passes on what was found before it: "email me the result", "schick sie an Tom"; not "send her an email".
_SENDS_ON = re.compile(
    r"^\W{0,3}(?:and\s+|und\s+|then\s+|dann\s+|please\s+|bitte\s+|also\s+|auch\s+){0,3}"
    r"(?:send|forward|share|e-?mail|mail|(?:ver)?schick\w*|(?:ver|über)?send\w*|leite?n?|maile?n?)\s+(?:\S{1,30}\s+){0,2}?"
    r"(?:it|them|this|that|these|those|both|everything|es|sie|ihn|alles|beides|"
    r"(?:the|das|die|den)(?!\s+(?:e-?mails?|mails?|message|nachricht)\b)(?=\s+\w))\b",
    re.IGNORECASE,
)
# What only an agent with files or pictures does: whoever searches and answers cannot, and hands over to nobody.
_NEEDS_ANOTHER = re.compile(
    r"^\W{0,3}(?:please\s+|bitte\s+|also\s+|auch\s+|it\s+){0,3}(?:save|store|export|download|upload|schedule|book|paint|illustrate|"
    r"draw(?!\s+(?:\w+\s+)?conclusions?)|speicher\w*|exportier\w*|zeichne|male)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?]+(?:\s+|$)|\n+")


@dataclass(frozen=True, slots=True)
class Guess:
    """What the patterns make of a question. `confidence`: 0..1. `sure`: no model need be asked.

    `rivals`: agents that could be meant as well, the likeliest first.
    """

    kind: Kind
    agent: str
    confidence: float
    reason: str
    sure: bool
    rivals: tuple[str, ...] = ()


def classify(question: str) -> Guess:
    text = readable(question)
    code_pasted = "```" in question
    if not any(letter.isalnum() for letter in text) and not code_pasted:
        return Guess("direct", CHAT, 0.8, "Nothing in it needs another agent.", True)
    if is_small_talk(text):
        return Guess("direct", CHAT, 0.95, "It is a greeting or a short reply.", True)
    text = without_opening(text)
    found = signals_of(text)
    planned = _several_steps(text) or _several_places(text, found)
    if planned is not None:
        return planned
    if code_pasted and _strength(found, "code") < CLEAR:
        found = _ranked({**found, "code": _PASTED_CODE})
    return _unless_more_is_asked(_one_agent(text, found), text)


@lru_cache(_KEPT)
def signals_of(text: str) -> Mapping[str, Signal]:
    """The strongest signal for each agent that any is for, the strongest agent first. Of one question the same parts
    are looked at several times."""
    best: dict[str, Signal] = {}
    for signal in SIGNALS:
        if signal.strength > _strength(best, signal.agent) and signal.regex.search(text):
            best[signal.agent] = signal
    return MappingProxyType(_ranked(best))


def _ranked(found: Mapping[str, Signal]) -> dict[str, Signal]:
    return dict(sorted(found.items(), key=lambda item: -item[1].strength))


def agent_of(text: str) -> str:
    """Who does one piece of work of several: the clearest agent, chat where nothing points at one."""
    found = _without_included(signals_of(text))
    return next((name for name, signal in found.items() if signal.strength > WEAK or name in _BY_A_HINT), CHAT)


def pieces_of(text: str) -> list[Clause]:
    """The clauses that are work of their own; those that are not are joined to the one before. `text` is `readable`."""
    folded: list[Clause] = []
    last_is_work = False
    for clause in clauses_of(text):
        is_work = _is_work(clause)
        if not folded or (is_work and last_is_work and not _belongs(clause, folded[-1])):
            folded.append(clause)
            last_is_work = is_work
        else:
            last = folded[-1]
            folded[-1] = Clause(f"{last.text}{_GLUE[clause.join]}{clause.text}", last.join)
            last_is_work = last_is_work or is_work
    return folded


def _is_work(clause: Clause) -> bool:
    text = without_first(clause.text)
    return begins_with_verb(text) or any(signal.strength >= STRONG for signal in signals_of(text).values())


def _belongs(clause: Clause, last: Clause) -> bool:
    """Whether two commands are one piece of work.

    The first verb of "analyze and compare the offers" does not say on what; a report is what research ends in.
    """
    bare = last.join is Join.START and is_lone_word(without_first(last.text))
    return bare or (_REPORT.match(clause.text) is not None and agent_of(last.text) == "research")


_GLUE = {Join.START: " ", Join.AND: ", ", Join.THEN: ", then ", Join.ITEM: "\n- "}


def _several_steps(text: str) -> Guess | None:
    """The guess that several agents are needed, if the question's parts or words say so."""
    pieces = pieces_of(text)
    agents = [agent_of(piece.text) for piece in pieces]
    different = list(dict.fromkeys(agent for agent in agents if agent != CHAT))
    commands = all(begins_with_verb(without_first(piece.text)) for piece in pieces)
    ordered = any(piece.join in (Join.THEN, Join.ITEM) for piece in pieces[1:])
    if len(pieces) > 1 and len(different) > 1:
        names = " and ".join(different[:3])
        return Guess("plan", PLANNER, 0.9 if commands else 0.75, f"It has parts for {names}.", True)
    if any(_sends_on_what_another_does(pieces, place) for place in range(1, len(pieces))):
        return Guess("plan", PLANNER, 0.8, "It has to send what somebody else does before.", True)
    if len(pieces) > 1 and commands and ordered and (says_first(pieces[0].text) or len(pieces) > 2):
        return Guess("plan", PLANNER, 0.85, f"It names {len(pieces)} steps, one after the other.", True)
    if tells_steps(text):
        return Guess("plan", PLANNER, 0.8, "It names steps, one after the other.", True)
    if _COMPLEX.search(text):
        return Guess("plan", PLANNER, 0.8, "It asks for work of several kinds.", True)
    return None


def _sends_on_what_another_does(pieces: Sequence[Clause], place: int) -> bool:
    """Whether this piece mails what an earlier command came to that is not for the mailbox: of that agent nobody gets
    a task, so what it sends must be there before it begins."""
    text = without_first(pieces[place].text)
    return (
        agent_of(text) == "mail"
        and _SENDS_ON.match(text) is not None
        and any(
            begins_with_verb(without_first(one.text)) and "mail" not in signals_of(one.text) for one in pieces[:place]
        )
    )


def _unless_more_is_asked(guess: Guess, text: str) -> Guess:
    """Not sure where a later clause is for another agent, and the one that was found hands over to nobody."""
    if not guess.sure or guess.agent == CHAT or targets_of(guess.agent):
        return guess
    first, *later = [without_first(clause.text) for clause in clauses_of(text)] or [""]
    sends_on = asks(first) and "mail" not in signals_of(first) and any(map(_SENDS_ON.match, later))
    if sends_on or (guess.agent != "mail" and any(map(_NEEDS_ANOTHER.match, later))):
        return replace(guess, sure=False, confidence=0.6, reason=f"{guess.reason} It asks for more than that.")
    return guess


def _several_places(text: str, found: Mapping[str, Signal]) -> Guess | None:
    """The guess that it needs more than one of documents, web and mails; or only that order matters in it."""
    places = [agent for agent in found if agent in _PLACES and found[agent].strength >= STRONG]
    if len(places) > 1 and "research" not in found:
        return Guess("plan", PLANNER, 0.8, f"It needs both {places[0]} and {places[1]}.", True)
    if places and any(found[agent].strength == CLEAR for agent in _PLACES & set(found)) and _BOTH.search(text):
        return Guess("plan", PLANNER, 0.6, f"It {found[places[0]].name}, and perhaps more than that.", False)
    if _FIRST_THEN.search(text):
        return Guess("plan", PLANNER, 0.55, "It speaks of something first and something else then.", False)
    return None


def _one_agent(text: str, found: Mapping[str, Signal]) -> Guess:
    ranked = list(_without_included(found).values())
    top = ranked[0] if ranked else None
    if top is None or top.strength <= WEAK:
        return _for_chat(text, tuple(signal.agent for signal in ranked if signal.agent != CHAT))
    rivals = tuple(signal.agent for signal in ranked[1:] if signal.strength == top.strength)
    kind: Kind = "research" if top.agent == "research" else "direct"
    hints = tuple(signal.agent for signal in ranked[1:] if signal.agent != CHAT)
    if rivals:
        both = f"It {top.name}, and it {ranked[1].name}."
        return Guess(kind, top.agent, 0.45, both, False, rivals)
    confidence = 0.9 if top.strength == STRONG else 0.75
    return Guess(kind, top.agent, confidence, f"It {top.name}.", len(hints) < MANY_HINTS, hints)


def _for_chat(text: str, rivals: tuple[str, ...]) -> Guess:
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    short = len(sentences) <= 1 and len(text.split()) <= SHORT_WORDS
    if len(text.split()) <= FEW_WORDS and not rivals and text.isascii():
        return Guess("direct", CHAT, 0.75, "It is a word or two.", True)
    if short and not rivals and _KNOWN_WORDS.search(text) and not begins_with_verb(text):
        return Guess("direct", CHAT, 0.75, "It is one short question.", True, rivals)
    return Guess("direct", CHAT, 0.55, "Nothing in it says who else should work on it.", False, rivals)


def _without_included(found: Mapping[str, Signal]) -> dict[str, Signal]:
    """Leaves out the agents whose part another agent, at least as clearly meant, does itself; weak ones count not."""
    covered = {
        other
        for agent, signal in found.items()
        for other in _INCLUDES.get(agent, ())
        if signal.strength >= _strength(found, other)
    }
    return {agent: signal for agent, signal in found.items() if agent not in covered}


def _strength(found: Mapping[str, Signal], agent: str) -> int:
    return found[agent].strength if agent in found else 0
