"""What a presentation says: slides of a few kinds. Knows no place, no colour and no file format."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from agents.craft.exchange import Value

MOST_SLIDES: Final = 40
MOST_POINTS: Final = 24

Line = Annotated[str, Field(min_length=1, max_length=300)]
Title = Annotated[str, Field(min_length=1, max_length=160)]
ThemeName = Literal["light", "dark", "warm", "forest"]


class Series(Value):
    name: Annotated[str, Field(max_length=80)] = ""
    values: tuple[float, ...] = Field(min_length=1, max_length=60)


class Chart(Value):
    """Figures to be drawn. Each series has one value for each category; a pie has one series."""

    kind: Literal["bar", "line", "pie"] = "bar"
    categories: tuple[Annotated[str, Field(max_length=60)], ...] = Field(min_length=1, max_length=60)
    series: tuple[Series, ...] = Field(min_length=1, max_length=6)

    @model_validator(mode="after")
    def _is_whole(self) -> "Chart":
        for series in self.series:
            if len(series.values) != len(self.categories):
                raise ValueError(
                    f"the series '{series.name}' has {len(series.values)} values for {len(self.categories)} categories"
                )
        if self.kind == "pie" and (len(self.series) > 1 or min(self.series[0].values) < 0):
            raise ValueError("a pie has one series, and no value below 0")
        return self


class Slide(Value):
    """One slide. `kind` says what it shows; what another kind would show is left empty.

    title: title and subtitle.  section: a heading between parts.  bullets: title and points.  columns: title, and
    points on the left and right, each under a heading of its own.  chart, table, image: title and that, with a line of
    `caption`.  quote: `quote` and who said it (`subtitle`).  closing: title and subtitle at the end.
    """

    kind: Literal["title", "section", "bullets", "columns", "chart", "table", "image", "quote", "closing"]
    title: Title
    subtitle: Annotated[str, Field(max_length=300)] = ""
    points: tuple[Line, ...] = Field(default=(), max_length=MOST_POINTS)
    left_heading: Annotated[str, Field(max_length=80)] = ""
    left: tuple[Line, ...] = Field(default=(), max_length=MOST_POINTS)
    right_heading: Annotated[str, Field(max_length=80)] = ""
    right: tuple[Line, ...] = Field(default=(), max_length=MOST_POINTS)
    chart: Chart | None = None
    table: tuple[tuple[Annotated[str, Field(max_length=200)], ...], ...] = Field(
        default=(), max_length=16, description="Rows of cells; the first row holds the headings"
    )
    image: Annotated[str, Field(max_length=500)] = Field(default="", description="Path of a picture in the workspace")
    quote: Annotated[str, Field(max_length=500)] = ""
    caption: Annotated[str, Field(max_length=200)] = ""
    notes: Annotated[str, Field(max_length=4000)] = Field(default="", description="What the speaker says")

    @model_validator(mode="after")
    def _has_what_it_shows(self) -> "Slide":
        shown = {
            "bullets": self.points,
            "columns": self.left and self.right,
            "chart": self.chart,
            "table": self.table,
            "image": self.image,
            "quote": self.quote,
        }
        if self.kind in shown and not shown[self.kind]:
            what = {"bullets": "points", "columns": "left and right"}.get(self.kind, self.kind)
            raise ValueError(f"the slide '{self.title}' is of the kind {self.kind} and has no {what}")
        if any(len(row) != len(self.table[0]) or not row for row in self.table):
            raise ValueError(f"the rows of the table of '{self.title}' are not equally long")
        if self.table and len(self.table[0]) > 8:
            raise ValueError(f"the table of '{self.title}' has more than 8 columns")
        return self


class Deck(Value):
    title: Title
    theme: ThemeName = "light"
    slides: tuple[Slide, ...] = Field(min_length=1, max_length=MOST_SLIDES)
