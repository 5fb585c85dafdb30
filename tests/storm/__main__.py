"""`make storm ARGS="--minutes 60 --seed 7"`: a storm over a house of its own, and its report in var/bench."""

import argparse
import asyncio
import json
import logging
import signal
import sys
import warnings
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from hyperagent.lib.conf import BASE_DIR
from tests.storm.plan import FAULTS, ROUND_S, RUNS, Shape, plan_round
from tests.storm.report import as_table
from tests.storm.storm import Campaign, storm


def main() -> None:
    parser = argparse.ArgumentParser(prog="make storm", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="no round begins after that")
    parser.add_argument("--seed", type=int, default=7, help="the same seed plans the same storm")
    parser.add_argument("--round", type=int, default=None, help="only this round of it")
    parser.add_argument("--rounds", type=int, default=0, help="at most so many rounds; 0: as many as there is time for")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of a round")
    parser.add_argument("--faults", type=int, default=FAULTS, help="faults of a round")
    parser.add_argument("--length", type=float, default=ROUND_S, help="seconds in which they are begun and done")
    parser.add_argument("--shapes", default=",".join(Shape), help="which shapes of runs, with commas between")
    parser.add_argument(
        "--from", type=Path, default=BASE_DIR, dest="folder", help="a checkout of another version, until it is deployed"
    )
    parser.add_argument("--keep", action="store_true", help="keep the rows and logs of every round")
    parser.add_argument("--plan", action="store_true", help="only print the plan of the round")
    options = parser.parse_args()
    shapes = tuple(map(Shape, options.shapes.split(",")))
    plans = partial(
        plan_round, options.seed, runs=options.runs, faults=options.faults, length_s=options.length, shapes=shapes
    )
    if options.plan:
        print(plans(options.round or 0).as_json())
        return
    _be_quiet()
    var = BASE_DIR / "var"
    campaign = Campaign(
        plans,
        seed=options.seed,
        failed=var / "storm",
        tell=partial(print, flush=True),
        first=options.round or 0,
        rounds=1 if options.round is not None else options.rounds,
        minutes=options.minutes,
        keep_all=options.keep,
        folder=options.folder.resolve(),
    )
    report = asyncio.run(_stoppable(storm(campaign)))
    _store(report, var / "bench" / f"storm-{options.seed}.json")
    print(as_table(report))
    sys.exit(1 if report["violations"] else 0)


async def _stoppable(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """A signal ends the storm after the rounds that it has done: whatever was started is stopped, and it reports."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await task


def _be_quiet() -> None:
    """The servers that stand for the world say a line for each connection, and set their levels themselves."""
    warnings.filterwarnings("ignore", message="Requiring AUTH")
    logging.getLogger().setLevel(logging.CRITICAL)
    for name in ("mail.log", "mcp", "aiohttp.server", "uvicorn.error", "uvicorn"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
        logging.getLogger(name).addFilter(lambda record: False)


def _store(report: dict[str, object], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, default=str) + "\n")
    print(f"The report is in {path}.")


if __name__ == "__main__":
    main()
