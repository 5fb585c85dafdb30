"""What is shown and kept of a run: a table, the raw values as JSON, a picture. Measures nothing."""

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.figure import Figure
from benchmarks.streaming import TOKENS_A_SECOND, Window

STROKES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1))), ("x", (0, (1, 1, 4, 1))))
VERDICTS = {True: "pass", False: "FAIL", None: ""}


def line(figure: Figure) -> str:
    target = "" if figure.target is None else str(figure.target)
    spread = "" if figure.spread is None else f"±{figure.spread:.0%}"
    value = f"{figure.value:.3g}" if figure.value < 1000 else f"{figure.value:.0f}"
    return f"{figure.name:<58} {value:>8} {figure.unit:<11} {spread:>6} {target:>7}  {VERDICTS[figure.is_met]}".rstrip()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_all(table: Sequence[str], *, below: str) -> None:
    """A table with a line on what it shows; nothing where it is empty."""
    if table:
        say("\n".join(["", *table, "", below, ""]))


def save(path: Path, *, figures: Sequence[Figure], windows: Sequence[Window], beside: Mapping[str, Any]) -> None:
    """`beside`: what else is kept of the run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        **beside,
        "figures": [one.as_json() for one in figures],
        "windows": [one.as_json() for one in windows],
    }
    path.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))


def plot(path: Path, windows: Sequence[Window]) -> None:
    """CPU a token against the number of streams: a line for each contender, up to where it no longer keeps up.

    Each has a marker and a stroke of its own, so that it can be told without colours.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for place, (name, costs) in enumerate(costs_by_load(windows).items()):
        marker, stroke = STROKES[place % len(STROKES)]
        grey = str(round(0.1 * (place % 5), 1))
        axes.plot(list(costs), list(costs.values()), marker=marker, linestyle=stroke, color=grey, label=name)
    axes.set(
        title="What a token costs by load",
        xlabel=f"streams at once ({TOKENS_A_SECOND} tokens a second each)",
        ylabel="CPU time a token, all its processes (µs)",
        ylim=(0, None),
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def costs_by_load(windows: Sequence[Window]) -> dict[str, dict[int, float]]:
    """By contender the median cost of a token (µs) by the number of streams, ascending.

    Windows that did not keep up are left out: tokens that pile up are read in heaps, and cost less.
    """
    seen: dict[str, dict[int, list[float]]] = {}
    for window in windows:
        if window.kept_up:
            seen.setdefault(window.contender, {}).setdefault(window.streams, []).append(window.cpu_us_a_token())
    return {
        name: {streams: statistics.median(costs[streams]) for streams in sorted(costs)} for name, costs in seen.items()
    }
