"""The panels of the admin's home: what one is made of, and where each app puts its own. What they tell is not known
here. A panel is a function of the request; it gives None to whom it does not concern.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest
from django.utils.safestring import SafeString


@dataclass(frozen=True)
class Line:
    """`value` is a number in words; `url` leads to the list of exactly what it counts. `tone`: as in `admin_values`."""

    text: str | SafeString
    value: str | SafeString = ""
    url: str = ""
    tone: str = ""
    note: str | SafeString = ""


@dataclass(frozen=True)
class Panel:
    """`key` names it in the page; `headline` stands large. Without lines, `empty` is said in their place."""

    key: str
    title: str
    lines: Sequence[Line] = ()
    headline: Line | None = None
    empty: str = ""
    groups: Sequence[tuple[str, Sequence[Line]]] = field(default=())


Maker = Callable[[HttpRequest], Panel | None]

_makers: list[tuple[int, Maker]] = []


def panel(*, position: int) -> Callable[[Maker], Maker]:
    """Puts what the function makes on the home; smaller positions stand first."""

    def register(make: Maker) -> Maker:
        _makers.append((position, make))
        return make

    return register


def panels_for(request: HttpRequest) -> list[Panel]:
    made = (make(request) for _, make in sorted(_makers, key=lambda one: one[0]))
    return [one for one in made if one is not None]
