"""The points and unit costs that `benchmarks.simulation` starts from, measured on the stand: streams of several
numbers, and what short runs take besides their tokens. Prints what it saw; simulates nothing.
"""

import asyncio
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from benchmarks import processes
from benchmarks.bench import Bench
from benchmarks.client import Heard
from benchmarks.contenders import Direct, Product
from benchmarks.figure import percentile
from benchmarks.first_token import ask_in_turns
from benchmarks.report import say
from benchmarks.sizes import FULL
from benchmarks.stand import Stand
from benchmarks.streaming import TOKENS_A_SECOND, Window, tokens_of

POINTS = (
    *((streams, TOKENS_A_SECOND) for streams in (1, 4, 8, 16, 32, 64, 96, 128, 192, 256)),
    *((streams, 2 * TOKENS_A_SECOND) for streams in (8, 32)),
)
"""Streams, and tokens of each in a second: at another pace frames hold another number of tokens, so what each of both
takes can be told apart."""
SIZES = replace(FULL, rounds=1, warm_s=1.5, window_s=6.0, patience_s=60.0, conversations=2_500)
"""The patience is for the jobs that follow the runs of the point before: titles, what is learned, tidying."""
TRIES = 3
"""Of each point; the one that other work disturbed least is kept: that of other programs, and of those jobs."""
QUIET = 0.15
"""Cores that other work may take without a second try."""
RUNS = 40
TOKENS = 2
AT_ONCE = (1, 8)
_STEPS = "SELECT count(*) FROM agents_step"
_WRITTEN = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


def save(path: Path) -> None:
    """Takes some minutes, and wants the machine for itself."""
    with Stand(conversations=SIZES.conversations) as stand:
        bench = Bench(stand, SIZES)
        starts, written = asyncio.run(_measure(bench))
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "disturbed_rounds": bench.disturbed},
        "windows": [window.as_json() for window in bench.windows],
        "starts": starts,
        "wal_bytes_a_token": written,
    }
    path.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS))


async def _measure(bench: Bench) -> tuple[dict[str, Any], dict[str, float]]:
    """What a run takes; and by point, the bytes that Postgres wrote ahead for each token (runs' starts and ends with
    it)."""
    starts = await _starts(bench)
    written = {}
    for streams, rate in POINTS:
        seen, bytes_a_token = await _undisturbed(bench, streams, rate)
        written[f"{streams} at {rate}/s"] = bytes_a_token
        say(
            f"{streams:>4} streams of {rate} tok/s: runner {seen.cpu_us_a_token('runner'):.0f} µs a token, all"
            f" {seen.cpu_us_a_token():.0f}, p95 {percentile(seen.latencies_ms, 0.95):.0f} ms, others took"
            f" {seen.others_share:.2f} cores, {bytes_a_token:.0f} bytes of WAL a token"
        )
    return starts, written


async def _undisturbed(bench: Bench, streams: int, rate: int) -> tuple[Window, float]:
    """The window, and the bytes of WAL for each token."""
    warm_s, window_s = bench.sizes.warm_s, bench.sizes.window_s
    tokens = streams * tokens_of(streams, warm_s=warm_s, window_s=window_s, rate=rate)
    tries: list[tuple[Window, float]] = []
    while not tries or (len(tries) < TRIES and min(_disturbed(one) for one, _ in tries) > QUIET):
        before = _count(bench.stand, _WRITTEN)
        seen = await bench.watch(Product(bench.stand), streams, rate=rate)
        tries.append((seen, round((_count(bench.stand, _WRITTEN) - before) / tokens, 1)))
        bench.windows.pop()
    best = min(tries, key=lambda one: _disturbed(one[0]))
    bench.windows.append(best[0])
    return best


def _disturbed(seen: Window) -> float:
    return seen.others_share + seen.cpu_s["jobs"] / seen.seconds


async def _starts(bench: Bench) -> dict[str, Any]:
    stand = bench.stand
    await _ask(stand, 8)
    await bench.quiet()
    steps, before, began = _count(stand, _STEPS), processes.cpu_by_part(stand.product), time.monotonic()
    await _ask(stand, RUNS)
    after = processes.cpu_by_part(stand.product)
    steps_a_run = (_count(stand, _STEPS) - steps) / RUNS
    each = {part: round((after[part] - before[part]) / RUNS * 1e6, 1) for part in after}
    added = {}
    for at_once in AT_ONCE:
        arrived = await ask_in_turns((Direct(stand), Product(stand)), rounds=10, at_once=at_once)
        added[str(at_once)] = round(arrived.added_ms("hyperagent"), 1)
    say(f"a run takes {each} µs; added to the first token {added} ms")
    return {
        "runs": RUNS,
        "seconds": round(time.monotonic() - began, 1),
        "cpu_us_a_run": each,
        "steps_a_run": steps_a_run,
        "added_ttft_ms": added,
    }


def _count(stand: Stand, query: str) -> int:
    return int(str(stand.query(query)[0][0]))


async def _ask(stand: Stand, count: int) -> None:
    """One after the other, in a conversation each."""
    async with Product(stand).lines(count) as lines:
        for line in lines:
            await line.ask(f"say {TOKENS} tokens stamped", Heard())
