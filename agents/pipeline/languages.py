"""English or German, by the small words of a short text. Pure; longer texts are told apart by `memory.reading`."""

import re
from typing import Final

_GERMAN: Final = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|eine?[nmrs]?|im|von|mit|für|auf|wird|werden|sind|den|dem|des|pro|zum|zur|am|wie|wer|"
    r"wann|wo|welche[rsnm]?|warum|mein\w*|unser\w*|habe?n?|bekommen)\b",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(
    r"\b(?:the|and|is|are|of|to|not|it|for|with|were|by|on|has|have|from|at|an?|its|which|that|this|how|what|who|when|"
    r"where|why|do|does|did|my|our|you|may|can)\b",
    re.IGNORECASE,
)


def language_of(text: str, *, otherwise: str = "en") -> str:
    """`en` or `de`; `otherwise`, where the small words do not tell."""
    german, english = len(_GERMAN.findall(text)), len(_ENGLISH.findall(text))
    if german == english:
        return otherwise
    return "de" if german > english else "en"
