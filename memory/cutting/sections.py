"""Under which headings a text stands. Pure."""

from typing import Final

from hyperagent.lib.clipping import one_line, whole_words
from memory.values import Page

BETWEEN: Final = " › "
_NAME_CHARS: Final = 80
_PATH_CHARS: Final = 200


class Sections:
    """The headings above the place that the cutter has come to. `number` tells two sections of the same name apart."""

    def __init__(self) -> None:
        self.number = 0
        self.title = ""
        self._page_title = ""
        self._headings: list[tuple[int, str]] = []

    def turn_to(self, page: Page) -> None:
        """A sheet or a slide is a section of its own; it goes on as long as the pages have its title."""
        if page.title != self._page_title:
            self._page_title = page.title
            self._headings = []
            self._begin()

    def enter(self, heading: str, level: int) -> None:
        self._headings = [(above, name) for above, name in self._headings if above < level]
        self._headings.append((level, heading))
        self._begin()

    def _begin(self) -> None:
        self.number += 1
        self.title = _joined((self._page_title, *(name for _, name in self._headings)))


def _joined(names: tuple[str, ...]) -> str:
    """The innermost name is worth most, then the outermost: what is too long is left out between them."""
    kept = list[str]()
    for name in map(_shortened, names):
        # The title of a slide is its first heading too.
        if name and (not kept or kept[-1] != name):
            kept.append(name)
    while len(kept) > 1 and len(BETWEEN.join(kept)) > _PATH_CHARS:
        kept.pop(1 if len(kept) > 2 else 0)
    return BETWEEN.join(kept)


def _shortened(name: str) -> str:
    return whole_words(one_line(name), _NAME_CHARS)
