"""Replacing one passage of a text: as it is done, and as people are shown beforehand that it would be. Pure."""

from agents.guardrails.quoting import places_of, unquoted


def with_passage(text: str, old: str, new: str) -> tuple[str, int]:
    """The text with `new` in the place of `old`, and how often that stands in it; unchanged unless it is once."""
    if "\r\n" in text and "\r\n" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    times = text.count(old)
    if times == 0 and (found := places_of(old, text)):
        # The model was told a sentence of it as a quotation, or without what nobody sees.
        (start, end), times = found[0], len(found)
        old, new = text[start:end], unquoted(new)
    return (text.replace(old, new) if times == 1 else text), times
