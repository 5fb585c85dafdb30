"""`make bench-retrieval`: how well the product finds, beside the usual ways, on the collections in BENCH_DATA; and how
fast. Prints tables, leaves the figures under var/bench/."""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks.report import say
from benchmarks.retrieval.database import running_database
from benchmarks.retrieval.sets import NoData, folder

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-retrieval", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="of a collection, or speed; several times")
    parser.add_argument("--chunks", type=int, default=10_000, help="of the owner whose searches are timed")
    options = parser.parse_args()
    kept = ROOT / os.environ.get("DATA_DIR", "var") / "bench"
    try:
        root = folder()
        with running_database():
            from benchmarks.retrieval.tables import run  # the models exist once Django is set up

            run(
                root,
                kept / "vectors",
                wanted=options.only or (),
                chunks=options.chunks,
                out=kept / time.strftime("retrieval-%Y%m%d-%H%M%S.json"),
            )
    except NoData as error:
        say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
