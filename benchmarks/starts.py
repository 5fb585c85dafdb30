"""The figures of beginning: the time that is added to the first token, alone, with others, and in a burst."""

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.bench import Bench
from benchmarks.compared import Column
from benchmarks.contenders import Contender, Direct, Product, peers, relays
from benchmarks.environments import LANGGRAPH
from benchmarks.figure import Figure, at_most, percentile
from benchmarks.first_token import Arrivals, ask_in_turns, stations

OURS, RELAY = Product.name, "fastapi"


async def first_token(bench: Bench) -> list[Figure]:
    """The time that is added to the first token of one warm run."""
    arrived, legs = await _first_tokens(bench, rounds=bench.sizes.first_tokens, at_once=1)
    _note(bench, arrived, Column.FIRST_P50, Column.FIRST_P95)
    ours, relay = arrived.added_ms(OURS), arrived.added_ms(RELAY)
    return [
        Figure("added time to first token, p50", ours, "ms", at_most(30), detail=legs),
        Figure("the same / the FastAPI relay's", ours / relay, "×", at_most(1.5)),
        *_beside_langgraph(arrived, "one run", most=0.5),
        Figure("added by the FastAPI relay, p50", relay, "ms"),
        Figure("added by the aiohttp relay, p50", arrived.added_ms("aiohttp"), "ms"),
        Figure("asked directly, p50", arrived.p50("direct"), "ms"),
        *_started(legs),
    ]


async def first_token_at_once(bench: Bench) -> list[Figure]:
    """The same when several people ask at the same moment."""
    count = bench.sizes.late_streams
    arrived, legs = await _first_tokens(bench, rounds=bench.sizes.at_once_rounds, at_once=count)
    _note(bench, arrived, Column.AT_ONCE_P50, Column.AT_ONCE_P95)
    ours = arrived.added_ms(OURS)
    return [
        Figure(f"added time to first token, {count} at once, p50", ours, "ms", at_most(60), detail=legs),
        *_beside_langgraph(arrived, f"{count} at once", most=0.15),
        Figure(f"added by the FastAPI relay, {count} at once, p50", arrived.added_ms(RELAY), "ms"),
    ]


async def starts(bench: Bench) -> list[Figure]:
    """Many people ask within a second, one after the other."""
    count = bench.sizes.starts
    arrived, legs = await _first_tokens(bench, rounds=bench.sizes.starts_rounds, at_once=count, within_s=1.0)
    name = f"added time to first token, {count} starts in a second"
    return [
        Figure(f"{name}, p95", arrived.added_ms(OURS, 0.95), "ms", at_most(400), detail=legs),
        Figure(f"{name}, p50", arrived.added_ms(OURS), "ms"),
        *[
            Figure(f"{one}, {count} starts in a second, p95", arrived.added_ms(one, 0.95), "ms")
            for one in (RELAY, LANGGRAPH.name)
            if one in arrived.by_contender
        ],
    ]


async def _first_tokens(
    bench: Bench, *, rounds: int, at_once: int, within_s: float = 0.0
) -> tuple[Arrivals, dict[str, Any]]:
    stand = bench.stand
    await bench.quiet()
    contenders: Sequence[Contender] = (Direct(stand), *relays(stand), *peers(stand), Product(stand))
    arrived = await ask_in_turns(contenders, rounds=rounds, at_once=at_once, within_s=within_s)
    legs = stations(stand, arrived.runs, clock_offset_ms=(time.time_ns() - time.monotonic_ns()) / 1e6)
    return arrived, {
        "p50_ms": {name: percentile(values, 0.5) for name, values in arrived.by_contender.items()},
        "p95_ms": {name: percentile(values, 0.95) for name, values in arrived.by_contender.items()},
        "legs_p50_ms": {name: percentile(values, 0.5) for name, values in legs.items() if values},
        "legs_p90_ms": {name: percentile(values, 0.9) for name, values in legs.items() if values},
    }


def _note(bench: Bench, arrived: Arrivals, p50: Column, p95: Column) -> None:
    for name in arrived.by_contender:
        if name != Direct.name:
            bench.compared.note(name, p50, arrived.added_ms(name))
            bench.compared.note(name, p95, arrived.added_ms(name, 0.95))


def _beside_langgraph(arrived: Arrivals, load: str, *, most: float) -> list[Figure]:
    if LANGGRAPH.name not in arrived.by_contender:
        return []
    theirs = arrived.added_ms(LANGGRAPH.name)
    return [
        Figure(f"the same / LangGraph's, {load}", arrived.added_ms(OURS) / theirs, "×", at_most(most)),
        Figure(f"added by LangGraph, {load}, p50", theirs, "ms"),
    ]


def _started(detail: dict[str, Any]) -> list[Figure]:
    legs = detail["legs_p50_ms"]
    if not legs:
        return []
    started = legs["commit → claim"] + legs["claim → driver's first event"]
    return [Figure("commit → runner starts the run, p50", started, "ms", at_most(15))]
