"""What agents say to each other, as people are shown it: without numbers of cards and accounts, social security numbers
and keys that nobody of them typed. What is recorded stays as it is, for agents work with it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from agents.guardrails.registry import scanners_for
from agents.guardrails.scanner import Finding, Place, Subject

HIDDEN: Final = frozenset({"card", "iban", "ssn", "secret"})
"""Kinds that are taken out of answers wherever they were read. Others are not secrets to the reader of a run."""
SAID: Final = ("content", "thinking")
_BETWEEN: Final = re.compile(r"[\s.\u2010-\u2013-]+")


class Shown:
    """`kinds`: those that this installation takes out of answers. `typed`: gives what the person wrote, if it is
    needed: what they know already stays."""

    def __init__(self, kinds: Sequence[str], typed: Callable[[], str]) -> None:
        self._kinds = HIDDEN.intersection(kinds)
        self._ask = typed

    def text(self, text: str) -> str:
        """Scanned with all scanners of answers; only values are taken out."""
        pieces, at = [], 0
        for one in sorted(self._found(text), key=lambda found: (found.start, -found.end)):
            if one.start < at:
                continue
            pieces += [text[at : one.start], one.replacement]
            at = one.end
        return "".join([*pieces, text[at:]])

    def message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Of a message that an agent's model wrote, its words. What it was told is for its reader as it was."""
        if message["role"] != "assistant":
            return dict(message)
        return {name: self._value(value) if name in SAID else value for name, value in message.items()}

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {name: self._value(item) for name, item in value.items()}
            case list() | tuple():
                return [self._value(item) for item in value]
            case _:
                return value

    def _found(self, text: str) -> list[Finding]:
        if not self._kinds:
            return []
        found = [one for scanner in scanners_for(Place.OUTPUT) for one in scanner.scan(text, Subject())]
        hidden = [one for one in found if one.kind in self._kinds and one.replacement]
        return [one for one in hidden if _compact(text[one.start : one.end]) not in self._typed]

    @cached_property
    def _typed(self) -> str:
        return _compact(self._ask())


def _compact(text: str) -> str:
    return _BETWEEN.sub("", text).lower()
