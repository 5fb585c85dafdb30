"""`make bench`: measures the product and its peers, prints a line for each figure and a table of ours and theirs, and
leaves raw values and a plot under var/bench/. `--quick` only shows that it works."""

import argparse
import asyncio
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Started as a file, Python looks beside it and not at the project.
sys.path[0] = str(ROOT)

from benchmarks import compared, report  # noqa: E402
from benchmarks.bench import Bench  # noqa: E402
from benchmarks.contenders import Product  # noqa: E402
from benchmarks.environments import Use  # noqa: E402
from benchmarks.figure import Figure  # noqa: E402
from benchmarks.figures import MEASUREMENTS, WITH_PEERS  # noqa: E402
from benchmarks.sizes import FULL, QUICK  # noqa: E402
from benchmarks.stand import NotStarted, Stand  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny numbers: shows that every figure can be measured")
    parser.add_argument("--only", action="append", choices=tuple(MEASUREMENTS), help="may be given several times")
    parser.add_argument(
        "--peers",
        type=Use,
        choices=tuple(Use),
        default=Use.MAKE,
        help="the frameworks beside us: make their environments (the default), use those that are made, or none",
    )
    parser.add_argument("--rounds", type=int, help="how often what is compared is measured in turns")
    parser.add_argument("--migrated", type=Path, help="a backup of an empty database, which saves migrating one")
    parser.add_argument("--out", type=Path, help="the JSON file; by default var/bench/<time>.json")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    sizes = replace(sizes, rounds=options.rounds or sizes.rounds)
    names = options.only or list(MEASUREMENTS)
    peers = options.peers if WITH_PEERS & set(names) else Use.NONE
    out = options.out or ROOT / os.environ.get("DATA_DIR", "var") / "bench" / time.strftime("%Y%m%d-%H%M%S.json")
    try:
        with Stand(conversations=sizes.conversations, peers=peers, migrated=options.migrated, say=report.say) as stand:
            if WITH_PEERS & set(names):
                for why in stand.missing.values():
                    report.say(why)
            bench = Bench(stand, sizes)
            figures = asyncio.run(_measure(bench, names))
    except NotStarted as error:
        sys.stderr.write(f"{error}\n")
        return 1
    kept = {"machine": _machine(bench), "compared": bench.compared.as_json(), "missing": bench.stand.missing}
    report.save(out, figures=figures, windows=bench.windows, beside=kept)
    if bench.windows:
        report.plot(out.with_suffix(".png"), bench.windows)
    report.say_all(compared.table(bench.compared.medians(), ours=Product.name), below=compared.LEGEND)
    report.say(_noise(bench))
    report.say(f"raw values: {out}")
    return 0


async def _measure(bench: Bench, names: Sequence[str]) -> list[Figure]:
    """Each figure is printed as soon as it is known."""
    figures: list[Figure] = []
    for name in names:
        for one in await MEASUREMENTS[name](bench):
            figures.append(replace(one, measurement=name))
            report.say(report.line(one))
    return figures


def _machine(bench: Bench) -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg(),
        "disturbed_rounds": bench.disturbed,
    }


def _noise(bench: Bench) -> str:
    """What speaks against the figures."""
    others = max((window.others_share for window in bench.windows), default=0.0)
    client = max((window.client_share for window in bench.windows), default=0.0)
    repeated = sum(window.repeated for window in bench.windows)
    return (
        f"others took up to {others:.2f} cores, the load client {client:.2f}; {bench.disturbed} rounds began on a"
        f" machine that was not quiet; {repeated} events came twice"
    )


if __name__ == "__main__":
    sys.exit(main())
