"""The figures: each measured by a function of its own, with what it should reach. Starts nothing, prints nothing.

Rounds of the product and of its peers alternate, so that a noisy machine hurts both; ratios are formed within a round.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from benchmarks import page, processes
from benchmarks.client import Heard, http_session, open_socket
from benchmarks.contenders import AiohttpRelay, Contender, Direct, FastAPIRelay, Product
from benchmarks.figure import Figure, at_least, at_most, of_rounds, percentile
from benchmarks.first_token import Arrivals, ask_in_turns, stations
from benchmarks.quiet import wait_for_quiet
from benchmarks.sizes import Sizes
from benchmarks.stand import ROOT, Stand
from benchmarks.streaming import TOKENS_A_SECOND, Window, watch_streams

T = TypeVar("T")
MB, KB = 2**20, 2**10
LATE_MS = 100.0
# So many answers make what is made once: connections, threads, compiled templates.
WARMING = 8


@dataclass(slots=True)
class Bench:
    """What every measurement works with; `windows` keeps all that was seen of streams, for the record and the plot."""

    stand: Stand
    sizes: Sizes
    windows: list[Window] = field(default_factory=list)
    disturbed: int = 0

    async def quiet(self) -> None:
        if not await wait_for_quiet(self.sizes.patience_s):
            self.disturbed += 1

    async def watch(self, contender: Contender, streams: int) -> Window:
        await self.quiet()
        sizes = self.sizes
        seen = await watch_streams(contender, self.stand, streams=streams, warm_s=sizes.warm_s, window_s=sizes.window_s)
        self.windows.append(seen)
        return seen

    async def in_turns(self, contenders: Sequence[Contender], streams: int) -> list[dict[str, Window]]:
        """For each round the windows of all contenders, by name."""
        rounds = []
        for _ in range(self.sizes.rounds):
            rounds.append({one.name: await self.watch(one, streams) for one in contenders})
        return rounds


async def read_path(bench: Bench) -> list[Figure]:
    """CPU a chunk of reading a model's stream, as a share of what LiteLLM's wrapper takes; in a process of its own."""
    sizes = bench.sizes
    size = ("--streams", str(sizes.read_path_streams), "--seconds", str(sizes.read_path_s))
    command = (sys.executable, "-m", "benchmarks.read_path", *size)
    shares, seen = [], []
    for _ in range(min(sizes.rounds, 2)):
        await bench.quiet()
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=ROOT, capture_output=True, check=True, env=bench.stand.env
        )
        seen.append(json.loads(done.stdout))
        shares.append(seen[-1]["ratio"])
    return [of_rounds("LLM read path / LiteLLM's wrapper, CPU a chunk", shares, "×", at_most(0.2), rounds=seen)]


async def cpu(bench: Bench) -> list[Figure]:
    """What a token costs while many stream, and how often the log is committed meanwhile."""
    stand, streams = bench.stand, bench.sizes.streams
    rounds = await bench.in_turns((FastAPIRelay(stand), Product(stand), AiohttpRelay(stand)), streams)
    relay = [one["fastapi"].cpu_us_a_token() for one in rounds]
    plain = [one["aiohttp"].cpu_us_a_token() for one in rounds]
    ours = [one["hyperagent"] for one in rounds]
    runner = [one.cpu_us_a_token("runner") for one in ours]
    whole = [one.cpu_us_a_token() for one in ours]
    commits = [one.commits / one.seconds for one in ours]
    tokens = [one.tokens / one.commits for one in ours]
    at = f"at {streams} streams"
    return [
        of_rounds(f"runner / FastAPI relay, CPU a token {at}", _shares(runner, relay), "×", at_most(1.0)),
        of_rounds(f"all processes / FastAPI relay, CPU a token {at}", _shares(whole, relay), "×", at_most(1.6)),
        of_rounds("runner, CPU a token", runner, "µs"),
        of_rounds("all processes, CPU a token", whole, "µs", parts=_parts(ours)),
        of_rounds("FastAPI relay, CPU a token", relay, "µs"),
        of_rounds("aiohttp relay, CPU a token", plain, "µs"),
        of_rounds("commits for events", commits, "/s", at_most(25)),
        of_rounds(f"tokens a commit {at}", tokens, "", at_least(50)),
    ]


async def first_token(bench: Bench) -> list[Figure]:
    """The time that is added to the first token of one warm run."""
    arrived, legs = await _first_tokens(bench, rounds=bench.sizes.first_tokens, at_once=1)
    ours, relay = arrived.added_ms("hyperagent"), arrived.added_ms("fastapi")
    return [
        Figure("added time to first token, p50", ours, "ms", at_most(30), detail=legs),
        Figure("the same / the FastAPI relay's", ours / relay, "×", at_most(2)),
        Figure("added by the FastAPI relay, p50", relay, "ms"),
        Figure("added by the aiohttp relay, p50", arrived.added_ms("aiohttp"), "ms"),
        Figure("asked directly, p50", arrived.p50("direct"), "ms"),
        *_starts(legs),
    ]


async def first_token_at_once(bench: Bench) -> list[Figure]:
    """The same when several people ask at the same moment."""
    count = bench.sizes.late_streams
    arrived, legs = await _first_tokens(bench, rounds=bench.sizes.at_once_rounds, at_once=count)
    ours = arrived.added_ms("hyperagent")
    return [
        Figure(f"added time to first token, {count} at once, p50", ours, "ms", at_most(60), detail=legs),
        Figure(f"added by the FastAPI relay, {count} at once, p50", arrived.added_ms("fastapi"), "ms"),
    ]


async def latency(bench: Bench) -> list[Figure]:
    """How late a token is, from the model's socket to the client."""
    stand, streams = bench.stand, bench.sizes.late_streams
    rounds = await bench.in_turns((FastAPIRelay(stand), Product(stand)), streams)
    ours = [one["hyperagent"].latencies_ms for one in rounds]
    relay = [one["fastapi"].latencies_ms for one in rounds]
    at = f"at {streams} streams"
    return [
        of_rounds(f"token latency p50 {at}", [percentile(one, 0.5) for one in ours], "ms", at_most(35)),
        of_rounds(f"token latency p95 {at}", [percentile(one, 0.95) for one in ours], "ms", at_most(60)),
        of_rounds(f"FastAPI relay, token latency p95 {at}", [percentile(one, 0.95) for one in relay], "ms"),
    ]


async def capacity(bench: Bench) -> list[Figure]:
    """The most streams that one runner holds. A number that fails is tried once more: others use the machine, too."""
    held = 0
    climbed = {}
    for streams in bench.sizes.climb:
        tries = []
        for _ in range(2):
            seen = await bench.watch(Product(bench.stand), streams)
            tries.append(percentile(seen.latencies_ms, 0.95))
            kept_up = seen.tokens >= 0.95 * streams * TOKENS_A_SECOND * seen.seconds
            if tries[-1] <= LATE_MS and kept_up:
                held = streams
                break
        climbed[str(streams)] = {"p95_ms": tries, **seen.as_json()}
        if held != streams:
            break
    name = f"streams of {TOKENS_A_SECOND} tok/s in one runner, p95 ≤ {LATE_MS:g} ms"
    return [Figure(name, held, "", at_least(40), detail=climbed)]


async def scaling(bench: Bench) -> list[Figure]:
    """What a token costs by the number of streams, for the plot."""
    stand = bench.stand
    for streams in bench.sizes.plot_streams:
        for contender in (FastAPIRelay(stand), AiohttpRelay(stand), Product(stand)):
            await bench.watch(contender, streams)
    return []


async def memory(bench: Bench) -> list[Figure]:
    """The processes at rest, and what a run adds to a runner."""
    stand, runs = bench.stand, bench.sizes.runs
    await _warm(stand)
    runner, web = (processes.memory(stand.product[name]) for name in ("runner", "web"))
    flowing = await _while_streaming(stand, runs, lambda: processes.memory(stand.product["runner"]))
    a_run = (flowing.shared_fairly - runner.shared_fairly) / runs / KB
    return [
        Figure("runner without LiteLLM, resident", runner.resident / MB, "MB", at_most(260)),
        Figure(f"runner, for each of {runs} runs", a_run, "KB", at_most(50)),
        Figure("web process, resident", web.resident / MB, "MB", at_most(140)),
        Figure("runner with LiteLLM, resident", await _with_litellm(stand), "MB", at_most(260)),
    ]


async def sockets(bench: Bench) -> list[Figure]:
    """What an idle socket costs the web process."""
    stand, count = bench.stand, bench.sizes.sockets
    await _warm(stand)
    before = processes.memory(stand.product["web"]).shared_fairly
    async with http_session() as session, AsyncExitStack() as stack:
        for _ in range(count):
            conversation_id = stand.new_conversation()
            opened = open_socket(session, stand.web_url, conversation_id=conversation_id, token=stand.token)
            await stack.enter_async_context(opened)
        # The watch has looked once at all of them.
        await asyncio.sleep(bench.sizes.warm_s * 3)
        after = processes.memory(stand.product["web"]).shared_fairly
    return [Figure(f"for each of {count} idle sockets", (after - before) / count / KB, "KB", at_most(60))]


async def idle(bench: Bench) -> list[Figure]:
    """What all processes of an installation take while nobody asks anything."""
    await bench.quiet()
    before, began = processes.cpu_by_part(bench.stand.product), time.monotonic()
    await asyncio.sleep(bench.sizes.idle_s)
    after, seconds = processes.cpu_by_part(bench.stand.product), time.monotonic() - began
    parts = {name: (after[name] - before[name]) / seconds * 100 for name in after}
    return [Figure("idle, all processes", sum(parts.values()), "% of a core", at_most(0.5), detail={"parts": parts})]


async def vectors(bench: Bench) -> list[Figure]:
    """Vector search against the exact answer, owners of different sizes; and how fast vectors are made."""
    sizes = bench.sizes
    owners = ("--chunks", *map(str, sizes.vector_owners), "--questions", str(sizes.vector_questions))
    made = ("--made", str(sizes.vectors_made), "--rounds", str(sizes.rounds))
    command = (sys.executable, "-m", "benchmarks.vectors", *owners, *made)
    await bench.quiet()
    env = {**bench.stand.env, "HYPERAGENT_PROCESS": "command"}
    done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, check=True, env=env)
    seen = json.loads(done.stdout)
    figures = [of_rounds("vectors made / in a bare loop", seen["made"]["share"], "×", at_least(0.8), **seen["made"])]
    for size, found in seen["search"].items():
        name = f"vector search, owner of {int(size):,} chunks"
        recall = (found["on_topic_recall"] + found["off_topic_recall"]) / 2
        most_ms = 15 if int(size) <= 10_000 else 30
        figures.append(Figure(f"{name}, p50", found["p50_ms"], "ms", at_most(most_ms), detail=found))
        figures.append(Figure(f"{name}, recall", recall, "", at_least(0.99), detail=found))
    return figures


async def chat_page(bench: Bench) -> list[Figure]:
    """A conversation of 2,000 messages and runs of 20,000 events in the browser."""
    stand = bench.stand
    made = await asyncio.to_thread(page.seed, stand.env)
    await bench.quiet()
    return await page.figures(stand.web_url, made, rounds=bench.sizes.rounds)


MEASUREMENTS: dict[str, Callable[[Bench], Awaitable[list[Figure]]]] = {
    "idle": idle,
    "memory": memory,
    "first_token": first_token,
    "first_token_at_once": first_token_at_once,
    "latency": latency,
    "cpu": cpu,
    "capacity": capacity,
    "scaling": scaling,
    "sockets": sockets,
    "read_path": read_path,
    "vectors": vectors,
    "chat_page": chat_page,
}


async def _first_tokens(bench: Bench, *, rounds: int, at_once: int) -> tuple[Arrivals, dict[str, Any]]:
    stand = bench.stand
    await bench.quiet()
    contenders = (Direct(stand), FastAPIRelay(stand), AiohttpRelay(stand), Product(stand))
    arrived = await ask_in_turns(contenders, rounds=rounds, at_once=at_once)
    legs = stations(stand, arrived.runs, clock_offset_ms=(time.time_ns() - time.monotonic_ns()) / 1e6)
    return arrived, {
        "p50_ms": {name: percentile(values, 0.5) for name, values in arrived.by_contender.items()},
        "legs_p50_ms": {name: percentile(values, 0.5) for name, values in legs.items() if values},
        "legs_p90_ms": {name: percentile(values, 0.9) for name, values in legs.items() if values},
    }


def _starts(detail: dict[str, Any]) -> list[Figure]:
    legs = detail["legs_p50_ms"]
    if not legs:
        return []
    started = legs["commit → claim"] + legs["claim → driver's first event"]
    return [Figure("commit → runner starts the run, p50", started, "ms", at_most(15))]


def _shares(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def _parts(windows: Sequence[Window]) -> dict[str, float]:
    return {part: percentile([window.cpu_us_a_token(part) for window in windows], 0.5) for part in windows[0].cpu_s}


async def _warm(stand: Stand) -> None:
    async with Product(stand).lines(WARMING) as lines:
        await asyncio.gather(*(line.ask("say 20 tokens stamped", Heard()) for line in lines))


async def _while_streaming(stand: Stand, runs: int, look: Callable[[], T]) -> T:
    """Looks in the middle of so many slow answers."""
    heard = [Heard() for _ in range(runs)]
    async with Product(stand).lines(runs) as lines:
        asking = [
            asyncio.create_task(line.ask("say 40 tokens at 4/s stamped", one))
            for line, one in zip(lines, heard, strict=True)
        ]
        for one in heard:
            await one.began.wait()
        seen = look()
        await asyncio.gather(*asking)
    return seen


async def _with_litellm(stand: Stand) -> float:
    """MB of a runner that serves a provider whose requests LiteLLM builds, once the library is loaded."""
    with stand.runner("with-litellm", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{stand.model_url}/v1"}) as pid:
        steady_s, resident = 0.0, 0
        while steady_s < 3:
            await asyncio.sleep(0.5)
            now = processes.memory(pid).resident
            steady_s = steady_s + 0.5 if now - resident < MB and now > 150 * MB else 0.0
            resident = now
    return resident / MB
