"""What stands on a slide and where. Lengths in points (1/72 inch) from the upper left corner, which no format gives."""

from dataclasses import dataclass, field
from typing import Literal

from agents.slides.deck import Chart

WIDTH, HEIGHT = 960.0, 540.0  # 16 : 9


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class Block:
    """A plain rectangle."""

    box: Box
    colour: str


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of one size. `bullets`: each line of `lines` is a point with a mark of the colour `mark`."""

    box: Box
    lines: tuple[str, ...]
    size: float
    colour: str
    bold: bool = False
    italic: bool = False
    align: Literal["left", "center", "right"] = "left"
    anchor: Literal["top", "middle", "bottom"] = "top"
    bullets: bool = False
    mark: str = ""
    is_title: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    box: Box
    rows: tuple[tuple[str, ...], ...]
    size: float
    head: str
    on_head: str
    text: str
    ground: str
    stripe: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart. `size`: of its letters."""

    box: Box
    chart: Chart
    colours: tuple[str, ...]
    text: str
    rule: str
    size: float = 13.0


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in its own proportions, as large as fits into the box, in its middle."""

    box: Box
    path: str
    alt: str


Shape = Block | Text | Table | Drawing | Picture


@dataclass(frozen=True, slots=True)
class Page:
    """A slide that is laid out. `name`: its title, for readers of screens and outlines."""

    name: str
    ground: str
    shapes: tuple[Shape, ...]
    notes: str = ""
    number: int = field(default=0, compare=False)
