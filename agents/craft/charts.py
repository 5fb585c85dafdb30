"""Charts that a program prints, one a line: a mark, then Chart.js' configuration as JSON. Pure.

What is handed on has kinds, labels, figures and a few choices; no code, no address and no colour of theirs.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agents.tools.free_names import names_like
from hyperagent.lib.text import clean_text

MARK: Final = "@chart"
MOST_CHARTS: Final = 6
MOST_CHARS: Final = 20_000
MOST_POINTS: Final = 2_000
MOST_SERIES: Final = 24
MOST_BESIDE: Final = 20
# Beyond it a browser has no whole numbers, and what is stored takes none of any length.
WHOLE_END: Final = 2**53
HOME: Final = "/home/user/"
CHART_FORM: Final = (
    '{"title": …, "type": "bar", "data": {"labels": […], "datasets": [{"label": …, "data": […]}]}, "file": "name.png"}'
)

Kind = Literal["bar", "line", "pie", "doughnut", "scatter", "bubble", "radar", "polarArea"]


@dataclass(frozen=True, slots=True)
class Chart:
    """`file`: of a picture of the same chart, as the program named it; empty if there is none."""

    title: str
    spec: dict[str, Any]
    file: str = ""


def _number(value: Any) -> float | None:
    """What is no figure is missing. A whole number stays one where a browser has it."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        if not math.isfinite(value):
            return None
    except OverflowError:
        return None
    return value if abs(value) <= WHOLE_END else float(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return clean_text(str(value))[:200] if isinstance(value, str | int | float) else ""


def _title(value: Any) -> dict[str, str]:
    return {"text": _text(value.get("text") if isinstance(value, dict) else value)}


def _point(value: Any) -> Any:
    """A figure, or a point of two or three; None where a part of it is missing."""
    if isinstance(value, list) and len(value) in (2, 3):
        value = dict(zip("xyr", value, strict=False))
    if not isinstance(value, dict):
        return _number(value)
    x = value.get("x")
    found = {"x": _number(x) if _number(x) is not None else _text(x), "y": _number(value.get("y"))}
    radius = _number(value.get("r"))
    return None if found["y"] is None or found["x"] == "" else {**found, **({} if radius is None else {"r": radius})}


def _listed(value: Any) -> list[Any]:
    return value[:MOST_POINTS] if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _points(value: Any) -> list[Any]:
    return [_point(item) for item in _listed(value)]


def _texts(value: Any) -> list[str]:
    return [_text(item) for item in _listed(value)]


Text = Annotated[str, BeforeValidator(_text)]
Number = Annotated[int | float | None, BeforeValidator(_number)]
Flag = Annotated[bool, BeforeValidator(bool)]


class _Part(BaseModel):
    """What is not named here is left out."""

    model_config = ConfigDict(extra="ignore")


class _Dataset(_Part):
    label: Text = ""
    data: Annotated[list[Any], BeforeValidator(_points)]
    type: Annotated[
        Literal["bar", "line"] | None, BeforeValidator(lambda kind: kind if kind in ("bar", "line") else None)
    ] = None
    fill: Flag = False
    axis: Annotated[Literal["y", "y1"], BeforeValidator(lambda name: "y1" if name == "y1" else "y")] = Field(
        default="y", alias="yAxisID"
    )


class _Data(_Part):
    labels: Annotated[list[str], BeforeValidator(_texts)] = []
    datasets: list[_Dataset] = Field(min_length=1, max_length=MOST_SERIES)


class _Axis(_Part):
    title: Annotated[dict[str, str], BeforeValidator(_title)] = {}
    min: Number = None
    max: Number = None
    stacked: Flag = False


class _Scales(_Part):
    x: Annotated[_Axis, BeforeValidator(_dict)] = _Axis()
    y: Annotated[_Axis, BeforeValidator(_dict)] = _Axis()
    r: Annotated[_Axis, BeforeValidator(_dict)] = _Axis()


class _Options(_Part):
    along: Annotated[Literal["x", "y"], BeforeValidator(lambda axis: "y" if axis == "y" else "x")] = Field(
        default="x", alias="indexAxis"
    )
    scales: Annotated[_Scales, BeforeValidator(_dict)] = _Scales()


class _Spec(_Part):
    type: Kind
    data: _Data
    options: Annotated[_Options, BeforeValidator(_dict)] = _Options()
    title: Text = ""
    file: Text = ""


def taken_out(stdout: str) -> tuple[str, tuple[Chart, ...]]:
    """The output without its lines of charts, and the charts that are whole."""
    lines = stdout.splitlines()
    charts = [chart for line in lines if line.startswith(MARK) and (chart := _chart(line.removeprefix(MARK)))]
    kept = [line for line in lines if not line.startswith(MARK)]
    return "\n".join(kept), tuple(charts[:MOST_CHARTS])


def picture_of(chart: Chart, files: Sequence[str]) -> str:
    """The path of its picture among the files that the program made, by the workspace's names; empty if it has none. It
    may lie beside an older one, which nobody allowed to replace."""
    wanted = chart.file.removeprefix(HOME).removeprefix("./")
    made = {path.removeprefix(HOME) for path in files}
    likely = islice(names_like(wanted), len(made) + MOST_BESIDE) if wanted else ()
    return next((name for name in likely if name in made), "")


def _chart(text: str) -> Chart | None:
    if len(text) > MOST_CHARS:
        return None
    try:
        # Python prints what is missing as NaN, which is no JSON and nothing that a database keeps.
        given = json.loads(text, parse_constant=lambda _: None)
        spec = _Spec.model_validate(given)
    except (ValueError, ValidationError, RecursionError):
        return None
    if not any(value is not None for dataset in spec.data.datasets for value in dataset.data):
        return None
    told = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"title", "file"})
    return Chart(spec.title, told, spec.file)
