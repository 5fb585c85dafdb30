"""Charts that a program prints, one a line: a mark, then Chart.js' configuration as JSON. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Final

MARK: Final = "@chart"
MOST_CHARTS: Final = 6
MOST_CHARS: Final = 20_000
KINDS: Final = ("bar", "line", "pie", "doughnut", "scatter", "bubble", "radar", "polarArea")


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    spec: dict[str, Any]


def taken_out(stdout: str) -> tuple[str, tuple[Chart, ...]]:
    """The output without its lines of charts, and the charts that are whole."""
    lines = stdout.splitlines()
    charts = [chart for line in lines if line.startswith(MARK) and (chart := _chart(line.removeprefix(MARK)))]
    kept = [line for line in lines if not line.startswith(MARK)]
    return "\n".join(kept), tuple(charts[:MOST_CHARTS])


def _chart(text: str) -> Chart | None:
    if len(text) > MOST_CHARS:
        return None
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(spec, dict) and spec.get("type") in KINDS and isinstance(spec.get("data"), dict)
    if not whole or not isinstance(spec["data"].get("datasets"), list):
        return None
    return Chart(str(spec.pop("title", "")), spec)
