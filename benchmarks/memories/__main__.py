"""`python -m benchmarks.memories`: facts of long conversations in BENCH_DATA, stored by the product and asked for. The
extractor is scripted: it answers with the facts that the collection names for each turn."""

import asyncio
import logging
import os
import sys
from pathlib import Path

from benchmarks.memories.conversations import conversations
from benchmarks.report import say
from benchmarks.retrieval.database import running_database
from benchmarks.retrieval.sets import NoData, folder

ROOT = Path(__file__).resolve().parent.parent.parent
SHOWN = 20


def main() -> int:
    kept = ROOT / os.environ.get("DATA_DIR", "var") / "bench" / "vectors"
    try:
        given = conversations(folder())
    except NoData as error:
        say(str(error))
        return 2
    with running_database():
        from benchmarks.memories import measuring  # the models exist once Django is set up

        # Nobody answers for vectors here: they are made below, all at once.
        logging.getLogger("memory.embedding.asking").setLevel(logging.ERROR)
        people, stored = measuring.store_all(given)
        say(f"facts: {stored.facts} of {len(people)} people")
        say(f"  stored as memories: {stored.memories}, of them quarantined: {stored.quarantined}")
        say(f"  held to say the same as another: {len(stored.merged)}; without a source: {stored.without_source}")
        for one, other in stored.merged[:SHOWN]:
            say(f"    {one!r} = {other!r}")
        say(f"  doubles after all of it was said again: {stored.doubles}")
        measuring.embed_all(kept)
        reached = asyncio.run(measuring.ask_all(given, people, kept, measuring.dsn()))
        say(f"questions: Recall@{measuring.AT} of the turns with the evidence")
        for name, value in reached.items():
            say(f"  {name:<28} {value:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
