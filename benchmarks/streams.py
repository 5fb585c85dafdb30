"""The figures of many streams: what a token costs, how late it is, how many streams are held; ours and theirs."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.bench import Bench
from benchmarks.compared import Column
from benchmarks.contenders import Contender, Product, peers, relays
from benchmarks.environments import LANGGRAPH
from benchmarks.figure import Figure, at_least, at_most, of_rounds, percentile, shares
from benchmarks.streaming import LATE_MS, TOKENS_A_SECOND, Window

OURS, RELAY = Product.name, "fastapi"
MOST_OF_RELAY = 1.4


async def cpu(bench: Bench) -> list[Figure]:
    """What a token costs while many stream, and how often the log is committed meanwhile."""
    stand, streams = bench.stand, bench.sizes.streams
    rounds = await bench.in_turns((*relays(stand), Product(stand)), streams)
    relay = [one[RELAY].cpu_us_a_token() for one in rounds]
    plain = [one["aiohttp"].cpu_us_a_token() for one in rounds]
    ours = [one[OURS] for one in rounds]
    runner = [one.worker_us_a_token() for one in ours]
    whole = [one.cpu_us_a_token() for one in ours]
    at = f"at {streams} streams"
    return [
        of_rounds(f"runner / FastAPI relay, CPU a token {at}", shares(runner, relay), "×", at_most(1.0)),
        of_rounds(
            f"all processes / FastAPI relay, CPU a token {at}", shares(whole, relay), "×", at_most(MOST_OF_RELAY)
        ),
        of_rounds("runner, CPU a token", runner, "µs"),
        of_rounds("all processes, CPU a token", whole, "µs", parts=_parts(ours)),
        of_rounds("FastAPI relay, CPU a token", relay, "µs"),
        of_rounds("aiohttp relay, CPU a token", plain, "µs"),
        of_rounds("commits for events", [one.commits / one.seconds for one in ours], "/s", at_most(25)),
        of_rounds(f"tokens a commit {at}", [one.tokens / one.commits for one in ours], "", at_least(50)),
    ]


async def against_peers(bench: Bench) -> list[Figure]:
    """What a token costs and how late it is beside the relays and the frameworks, at streams that all of them hold."""
    stand, streams = bench.stand, bench.sizes.late_streams
    contenders = [*relays(stand), *peers(stand), Product(stand)]
    rounds = await bench.in_turns(contenders, streams)
    seen = {one.name: [windows[one.name] for windows in rounds] for one in contenders}
    for name, windows in seen.items():
        bench.compared.note(name, Column.WORKER_CPU, *(one.worker_us_a_token() for one in windows))
        bench.compared.note(name, Column.ALL_CPU, *(one.cpu_us_a_token() for one in windows))
        bench.compared.note(name, Column.LATENCY_P95, *(percentile(one.latencies_ms, 0.95) for one in windows))
    return _costs(seen, f"CPU a token at {streams} streams")


def _costs(seen: Mapping[str, Sequence[Window]], what: str) -> list[Figure]:
    runner = [one.worker_us_a_token() for one in seen[OURS]]
    whole = [one.cpu_us_a_token() for one in seen[OURS]]
    relay = [one.cpu_us_a_token() for one in seen[RELAY]]
    figures = [
        of_rounds(f"all processes / the FastAPI relay, {what}", shares(whole, relay), "×", at_most(MOST_OF_RELAY)),
        of_rounds(f"all processes, {what}", whole, "µs", parts=_parts(seen[OURS])),
    ]
    if LANGGRAPH.name in seen:
        theirs = seen[LANGGRAPH.name]
        process = [one.worker_us_a_token() for one in theirs]
        theirs_whole = [one.cpu_us_a_token() for one in theirs]
        figures += [
            of_rounds(f"runner / LangGraph's process, {what}", shares(runner, process), "×", at_most(0.25)),
            of_rounds(f"all processes / LangGraph's, {what}", shares(whole, theirs_whole), "×", at_most(0.5)),
            of_rounds(f"LangGraph with Postgres, {what}", theirs_whole, "µs", parts=_parts(theirs)),
        ]
    return figures


async def latency(bench: Bench) -> list[Figure]:
    """How late a token is, from the model's socket to the client."""
    stand, streams = bench.stand, bench.sizes.late_streams
    relay = relays(stand)[0]
    rounds = await bench.in_turns((relay, Product(stand)), streams)
    ours = [one[OURS].latencies_ms for one in rounds]
    theirs = [one[relay.name].latencies_ms for one in rounds]
    at = f"at {streams} streams"
    return [
        of_rounds(f"token latency p50 {at}", [percentile(one, 0.5) for one in ours], "ms", at_most(35)),
        of_rounds(f"token latency p95 {at}", [percentile(one, 0.95) for one in ours], "ms", at_most(60)),
        of_rounds(f"FastAPI relay, token latency p95 {at}", [percentile(one, 0.95) for one in theirs], "ms"),
    ]


async def capacity(bench: Bench) -> list[Figure]:
    """The most streams that one worker process holds: ours, and each of the others."""
    stand = bench.stand
    held: dict[str, float] = {}
    details: dict[str, dict[str, Any]] = {}
    for contender in (Product(stand), *peers(stand), *relays(stand)):
        held[contender.name], details[contender.name] = await _climb(bench, contender)
        bench.compared.note(contender.name, Column.HELD, held[contender.name])
    name = f"streams of {TOKENS_A_SECOND} tok/s in one runner, p95 ≤ {LATE_MS:g} ms"
    figures = [Figure(name, held[OURS], "", at_least(40), detail=details)]
    theirs = held.get(LANGGRAPH.name)
    if theirs:
        figures.append(Figure("streams held / by LangGraph's process", held[OURS] / theirs, "×", at_least(6)))
    return figures


async def _climb(bench: Bench, contender: Contender) -> tuple[int, dict[str, Any]]:
    """A number that fails is tried once more: others use the machine, too."""
    held, failed = 0, None
    seen_at: dict[str, Any] = {}
    while (streams := next_count(held, failed, first=bench.sizes.climb_from, most=bench.sizes.climb_to)) is not None:
        tries = []
        for _ in range(2):
            tries.append(await bench.watch(contender, streams))
            if tries[-1].is_held:
                break
        seen_at[str(streams)] = {"p95_ms": [percentile(one.latencies_ms, 0.95) for one in tries], **tries[-1].as_json()}
        held, failed = (streams, failed) if tries[-1].is_held else (held, streams)
    return held, seen_at


def next_count(held: int, failed: int | None, *, first: int, most: int) -> int | None:
    """How many streams to try next: twice as many until some are too many, then the middle, to about a tenth."""
    if failed is None:
        following = held * 2 if held else first
        return min(following, most) if held < most else None
    return None if failed - held <= max(1, held // 10) else (held + failed) // 2


async def scaling(bench: Bench) -> list[Figure]:
    """What a token costs by the number of streams, for the plot. Who does not keep up is not asked for more."""
    stand = bench.stand
    behind: set[str] = set()
    for streams in bench.sizes.plot_streams:
        for contender in (*relays(stand), *peers(stand), Product(stand)):
            if contender.name not in behind and not (await bench.watch(contender, streams)).kept_up:
                behind.add(contender.name)
    return []


def _parts(windows: Sequence[Window]) -> dict[str, float]:
    return {part: percentile([window.cpu_us_a_token(part) for window in windows], 0.5) for part in windows[0].cpu_s}
