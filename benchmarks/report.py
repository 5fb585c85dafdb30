"""What is shown and kept of a run: a table, the raw values as JSON, a picture. Measures nothing."""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.figure import Figure
from benchmarks.streaming import Window

VERDICTS = {True: "pass", False: "FAIL", None: ""}


def line(figure: Figure) -> str:
    target = "" if figure.target is None else str(figure.target)
    spread = "" if figure.spread is None else f"±{figure.spread:.0%}"
    value = f"{figure.value:.3g}" if figure.value < 1000 else f"{figure.value:.0f}"
    return f"{figure.name:<58} {value:>8} {figure.unit:<11} {spread:>6} {target:>7}  {VERDICTS[figure.is_met]}".rstrip()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def save(path: Path, *, figures: Sequence[Figure], windows: Sequence[Window], machine: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "machine": machine,
        "figures": [one.as_json() for one in figures],
        "windows": [one.as_json() for one in windows],
    }
    path.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))


def plot(path: Path, windows: Sequence[Window]) -> None:
    """CPU a token against the number of streams, one line a contender."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name in dict.fromkeys(window.contender for window in windows):
        costs: dict[int, list[float]] = {}
        for window in windows:
            if window.contender == name:
                costs.setdefault(window.streams, []).append(window.cpu_us_a_token())
        streams = sorted(costs)
        axes.plot(streams, [statistics.median(costs[one]) for one in streams], marker="o", label=name)
    axes.set(xlabel="streams of 50 tokens a second", ylabel="CPU a token, all processes (µs)", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
