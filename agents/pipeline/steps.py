"""Whether a question tells to do one thing first and another then (S8). Pure; knows words, no agents.

English and German. Generous with verbs, which cannot be listed, and strict with the form: that something came first is
no command.
"""

import re
from collections.abc import Sequence
from typing import Final

from agents.pipeline.clauses import Clause, Join, begins_with_verb, clauses_of, says_first, without_first

_STEP_1 = r"^\W{0,3}(?:(?:please|bitte)\W{1,3})?(?:step|schritt)\s+1\b"
_BEGINS_WITH_STEP_1 = re.compile(_STEP_1, re.IGNORECASE)
_HEADED_STEPS = re.compile(
    rf"{_STEP_1}\s?[:.)–-].{{1,400}}?\b(?:step|schritt)\s+2\s?[:.)–-]", re.IGNORECASE | re.DOTALL
)
# "Translate it first, …", "Übersetze es zuerst, …"; not "explain the first law".
_FIRST_WITHIN = re.compile(r"^[^,;:]{0,80}\b(?:zuerst|zunächst|als\s+erstes)\b|\bfirst\W*$", re.IGNORECASE)
# What no command begins with.
_TELLS: Final = re.compile(
    r"\W*(?:i|you|he|she|it|we|they|this|that|these|those|there|the|an?|my|your|his|her|our|their|some|nothing|everything|"
    r"what|which|who|where|when|why|how|if|is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|not?|"
    r"thanks?|sorry|ich|du|er|sie|es|wir|ihr|man|das|der|die|dem|den|ein\w{0,2}|kein\w{0,2}|mein\w{0,2}|dein\w{0,2}|unser\w{0,2}|"
    r"was|wer|wie|wo|wann|warum|welche\w?|wenn|ist|sind|war\w{0,3}|hat\w{0,3}|habe\w?|kann|wird|werden|danke)\b",
    re.IGNORECASE,
)


def tells_steps(text: str) -> bool:
    """Such as "first … then …" and "step 1 … step 2 …". `text` is `agents.pipeline.clauses.readable`."""
    clauses = clauses_of(text)
    return bool(clauses) and (_heads_steps(text) or _numbers_steps(text, clauses) or _does_first(clauses))


def _heads_steps(text: str) -> bool:
    return _HEADED_STEPS.match(text) is not None and not text.endswith("?")


def _numbers_steps(text: str, clauses: Sequence[Clause]) -> bool:
    commands = [begins_with_verb(clause.text) for clause in clauses if clause.join in (Join.START, Join.THEN)]
    return _BEGINS_WITH_STEP_1.match(text) is not None and len(commands) > 1 and all(commands)


def _does_first(clauses: Sequence[Clause]) -> bool:
    first, *later = clauses
    is_first = says_first(first.text) or _FIRST_WITHIN.search(first.text) is not None
    return is_first and begins_with_verb(without_first(first.text)) and any(map(_does_then, later))


def _does_then(clause: Clause) -> bool:
    return clause.join is Join.THEN and (begins_with_verb(clause.text) or not _TELLS.match(clause.text))
