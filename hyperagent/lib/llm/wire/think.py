"""`<think>...</think>` in a text stream told from the text, whatever the pieces in which it comes."""

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Feed it text, it gives (is_thinking, text) in order. Holds back what may be the beginning of a tag."""

    __slots__ = ("_held", "_thinking")

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False

    def feed(self, text: str) -> list[tuple[bool, str]]:
        text = self._held + text
        found: list[tuple[bool, str]] = []
        while True:
            tag = _CLOSE if self._thinking else _OPEN
            before, hit, text_after = text.partition(tag)
            if not hit:
                break
            if before:
                found.append((self._thinking, before))
            self._thinking = not self._thinking
            text = text_after
        keep = _tag_begun(text, tag)
        self._held = text[len(text) - keep :] if keep else ""
        ready = text[: len(text) - keep]
        if ready:
            found.append((self._thinking, ready))
        return found

    def finish(self) -> list[tuple[bool, str]]:
        rest, self._held = self._held, ""
        return [(self._thinking, rest)] if rest else []


def _tag_begun(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if tag.startswith(text[-size:])), 0)
