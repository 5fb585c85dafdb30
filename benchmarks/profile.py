"""`make profile`: the ten most costly lines of runner and web process, while turns begin and while answers stream.

A line's share is of the CPU time of its process (`benchmarks.profiled`); beside it stands the line of the project that
led there. Measures no figure: the stand is that of `make bench`.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import processes, report
from benchmarks.client import Heard
from benchmarks.contenders import Product
from benchmarks.first_token import QUESTION
from benchmarks.stand import ROOT, NotStarted, Stand
from benchmarks.streaming import watch_streams

LINES = 10
PROFILED = ("runner", "web")
AT_ONCE = 8
WRITTEN_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Cost:
    """`cpu_s`: of the line itself and of what it calls that is not Python. `within`: lines of the project, by CPU."""

    line: str
    cpu_s: float
    within: Sequence[str]


def costs_of(spent: Sequence[Mapping[str, object]]) -> list[Cost]:
    """Of what `benchmarks.profiled` wrote; the most costly line first."""
    by_line: dict[str, Counter[str]] = {}
    for one in spent:
        by_line.setdefault(str(one["line"]), Counter())[str(one["within"])] += float(str(one["cpu_s"]))  # type: ignore[assignment]
    costs = [
        Cost(line, float(sum(places.values())), [place for place, _ in places.most_common() if place])
        for line, places in by_line.items()
    ]
    return sorted(costs, key=lambda cost: -cost.cpu_s)


def told(costs: Sequence[Cost], *, most: int = LINES) -> list[str]:
    """A line for each: its share, file, line and function, and where in the project it belongs to."""
    whole_s = sum(cost.cpu_s for cost in costs)
    lines = []
    for cost in costs[:most]:
        led = f"  < {cost.within[0]}" if cost.within else ""
        more = f" and {len(cost.within) - 1} more" if len(cost.within) > 1 else ""
        lines.append(f"{cost.cpu_s / whole_s:6.1%}  {cost.line}{led}{more}")
    return lines


def by_own_line(costs: Sequence[Mapping[str, object]]) -> list[Cost]:
    """The same by the project's own lines: what each costs with all that it calls of others."""
    return costs_of([{**one, "line": one["within"] or one["line"], "within": ""} for one in costs])


async def turns(stand: Stand, *, count: int) -> None:
    """So many short turns, a few at a time, each in a conversation of its own."""
    for _ in range(max(1, count // AT_ONCE)):
        async with Product(stand).lines(AT_ONCE) as lines:
            await asyncio.gather(*(line.ask(QUESTION, Heard()) for line in lines))


async def streaming(stand: Stand, *, streams: int, seconds: float) -> None:
    await watch_streams(Product(stand), stand, streams=streams, warm_s=0.5, window_s=seconds)


async def profile(stand: Stand, work: Callable[[], Awaitable[None]]) -> dict[str, list[dict[str, object]]]:
    """What both processes spent while the work was done, by process."""
    files = {name: stand.profile_of(name) for name in PROFILED}
    for name, file in files.items():
        file.unlink(missing_ok=True)
        os.kill(stand.product[name], signal.SIGUSR1)
    before = {name: processes.cpu_s([stand.product[name]]) for name in PROFILED}
    await work()
    spent = {name: processes.cpu_s([stand.product[name]]) - before[name] for name in PROFILED}
    for name in PROFILED:
        os.kill(stand.product[name], signal.SIGUSR2)
    deadline = time.monotonic() + WRITTEN_TIMEOUT_S
    while not all(file.exists() for file in files.values()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {WRITTEN_TIMEOUT_S:g} s: {', '.join(map(str, files.values()))}")
        await asyncio.sleep(0.05)
    report.say(", ".join(f"{name} {cpu_s:.2f} s of CPU" for name, cpu_s in spent.items()))
    return {name: json.loads(file.read_text()) for name, file in files.items()}


async def _all(stand: Stand, *, count: int, streams: int, seconds: float, most: int) -> dict[str, object]:
    await turns(stand, count=AT_ONCE)  # what is done once
    kept: dict[str, object] = {}
    works: dict[str, Callable[[], Awaitable[None]]] = {
        f"{count} turns of 5 tokens": lambda: turns(stand, count=count),
        f"{streams} streams": lambda: streaming(stand, streams=streams, seconds=seconds),
    }
    for what, work in works.items():
        report.say(f"\n== {what}")
        for name, spent in (await profile(stand, work)).items():
            kept[f"{what}: {name}"] = spent
            report.say(f"\n{name}, the {most} most costly lines:")
            report.say("\n".join(told(costs_of(spent), most=most)))
            report.say(f"\n{name}, the {most} lines of the project that cost most with what they call:")
            report.say("\n".join(told(by_own_line(spent), most=most)))
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=160)
    parser.add_argument("--streams", type=int, default=AT_ONCE)
    parser.add_argument("--seconds", type=float, default=15.0, help="how long the streams are looked at")
    parser.add_argument("--lines", type=int, default=LINES, help="how many are shown")
    options = parser.parse_args()
    if options.turns < 1 or options.streams < 1 or options.lines < 1 or options.seconds <= 0:
        parser.error("--turns, --streams, --lines and --seconds are more than nothing")
    out = ROOT / os.environ.get("DATA_DIR", "var") / "bench" / time.strftime("profile-%Y%m%d-%H%M%S.json")
    try:
        with Stand(conversations=options.turns + options.streams + 4 * AT_ONCE, profiled=True) as stand:
            kept = asyncio.run(
                _all(stand, count=options.turns, streams=options.streams, seconds=options.seconds, most=options.lines)
            )
    except NotStarted as error:
        sys.stderr.write(f"{error}\n")
        return 1
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(kept))
    report.say(f"\nall lines: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
