"""The language that a text is in."""

from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_LANGUAGES: Final = (
    "ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id", "it",
    "ja", "ko", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "vi", "zh",
)  # fmt: skip
"""Rarer ones are found by mistake more often than they are met."""
_LOOKED_AT: Final = 4_000
_LETTERS_LEAST: Final = 20
_SURE: Final = 0.9


def language_of(text: str) -> str:
    """ISO 639-1, by the beginning of the text; "" if that is too short or could be several."""
    head = text[:_LOOKED_AT]
    if sum(letter.isalpha() for letter in head) < _LETTERS_LEAST:
        return ""
    language, probability = _identifier().classify(head)
    return str(language) if probability >= _SURE else ""


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # late: it brings numpy and a model

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_LANGUAGES))
    return identifier
