"""Asks the person when a question lacks what nobody can guess (S96, S97). Ordinary questions cost no call."""

import re
from collections.abc import Sequence
from typing import Final

from agents.craft.exchange import Options
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.pipeline.clauses import begins_with_verb, readable
from agents.pipeline.route import Route
from agents.roles.clarifier import MAX_OPTIONS, Query, ask_clarifier
from agents.runtime.context import AgentContext

MAX_ROUNDS: Final = 3
_NO_OPTIONS: Final = Options()
STAGE: Final = "clarify"
_FEW_WORDS: Final = 10
_NOUN = (
    r"(?:file|document|report|e-?mail|mail|message|letter|code|script|bug|error|problem|issue|text|article|data|table|"
    r"picture|image|meeting|contract|presentation|draft|page|function|task|numbers|results?|"
    r"datei|dokument|bericht|nachricht|brief|skript|fehler|problem|text|artikel|daten|tabelle|bild|termin|vertrag|"
    r"präsentation|entwurf|seite|funktion|aufgabe|zahlen|ergebnis(?:se)?)"
)
_POINTS_NOWHERE = re.compile(
    r"^\W{0,3}(?:please\s+|bitte\s+|can\s+you\s+|could\s+you\s+|kannst\s+du\s+)?[\w-]+\s+"
    r"(?:it|this|that|them|these|those|es|das|dies|diese|sie|ihn)\b",
    re.IGNORECASE,
)
_WHICH_ONE = re.compile(
    rf"\b(?:the|that|this|my|our|die|der|das|den|dem|meine?n?|unsere?n?|diese[nrs]?)\s+{_NOUN}\s*[.!?]*$", re.IGNORECASE
)
_WHO = re.compile(r"\b(?:to\s+(?:him|her|them)|an\s+(?:ihn|sie)|ihm|ihnen)\b", re.IGNORECASE)
_BARE_MAIL = re.compile(
    r"^\W{0,3}(?:please\s+|bitte\s+)?(?:send|write|draft|schicke?|sende|schreibe?)\s+(?:an?\s+|eine?\s+)?(?:e-?mail|mail)\W*$",
    re.IGNORECASE,
)


def doubt_about(question: str, *, history_length: int = 0, attached: bool = False) -> str:
    """What may be missing, in words; empty where the question can be taken as it is. Pure, and cheap.

    Only short commands that point at what nobody mentioned are doubtful: a conversation or an attachment may say it.
    """
    text = readable(question)
    words = text.split()
    pasted = any(mark in text for mark in ("\n", ":", '"', "“", "„", "«", "`")) or "```" in question
    if history_length or attached or pasted or not words or len(words) > _FEW_WORDS or not begins_with_verb(text):
        return ""
    if _BARE_MAIL.match(text):
        return "to whom the mail goes, and what it says"
    if _POINTS_NOWHERE.match(text):
        return "what it speaks of: nothing was said before"
    if _WHO.search(text):
        return "who is meant: nobody was named before"
    if _WHICH_ONE.search(text):
        return "which one is meant"
    return "what exactly is wanted" if len(words) <= 2 and len(text) <= 20 else ""


async def clarified(
    context: AgentContext,
    question: str,
    *,
    interactive: bool,
    guess: Route,
    history_length: int = 0,
    attached: bool = False,
    options: Options = _NO_OPTIONS,
) -> str | None:
    """The question as it can be worked on: as it is, or with the person's answers, or with what has to be assumed
    because nobody can be asked. None: the person declined, or did not answer in time."""
    doubt = doubt_about(question, history_length=history_length, attached=attached)
    if not doubt or guess.skill is not None:
        return question
    with stage(context, STAGE, "Looking for what is missing"):
        return await _settle(context, question, doubt, interactive=interactive, options=options)


async def _settle(
    context: AgentContext, question: str, doubt: str, *, interactive: bool, options: Options
) -> str | None:
    answered: list[tuple[str, str]] = []
    for _ in range(MAX_ROUNDS):
        try:
            clarity = await ask_clarifier(context, question, doubt=doubt, answered=answered, options=options)
        except StepFailed:
            break  # it is no reason not to try
        if not clarity.needs_clarification or not clarity.questions:
            break
        if not interactive:
            return _assuming(question, clarity.questions)
        asked = _in_words(clarity.questions)
        answer = await context.ask("input", {"question": asked, "options": _options(clarity.questions)})
        said = _said(answer)
        if not said:
            return None
        answered.append((asked, said))
    return _completed(question, answered)


def _in_words(queries: Sequence[Query]) -> str:
    if len(queries) == 1:
        return queries[0].question
    return "\n".join(f"{number}. {query.question}" for number, query in enumerate(queries, 1))


def _options(queries: Sequence[Query]) -> list[str]:
    """Choices make sense for a single question only."""
    return queries[0].options[:MAX_OPTIONS] if len(queries) == 1 else []


def _said(answer: object) -> str:
    """The person's words; empty if they declined or the question ran out."""
    if not isinstance(answer, dict) or answer.get("status") not in ("answered", "approved"):
        return ""
    told = (answer.get("choice"), answer.get("text"), answer.get("instructions"))
    return "; ".join(str(one).strip() for one in told if one and str(one).strip())


def _completed(question: str, answered: Sequence[tuple[str, str]]) -> str:
    if not answered:
        return question
    lines = "\n".join(f"- {asked}\n  {answer}" for asked, answer in answered)
    return f"{question}\n\nThe person was asked what was missing, and answered:\n{lines}"


def _assuming(question: str, queries: Sequence[Query]) -> str:
    lines = "\n".join(f"- {query.question}" for query in queries)
    return (
        f"{question}\n\nNobody can be asked what is missing here:\n{lines}\n"
        "Take what is likeliest, and say in the answer what was assumed."
    )
