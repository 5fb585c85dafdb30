"""The figures by name, each measured by a function, with what it should reach; here, those of processes at rest.

What streams is in `benchmarks.streams`, what begins in `benchmarks.starts`. Starts nothing, prints nothing.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

from benchmarks import ingesting, page, planned, processes, resume, starts, streams
from benchmarks.bench import Bench
from benchmarks.client import Heard, http_session, open_socket
from benchmarks.compared import Column
from benchmarks.contenders import Contender, Product, peers, relays
from benchmarks.figure import Figure, at_least, at_most, of_rounds
from benchmarks.stand import ROOT, Stand

T = TypeVar("T")
MB, KB = 2**20, 2**10
# So many answers make what is made once: connections, threads, compiled templates.
WARMING = 8


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


async def memory(bench: Bench) -> list[Figure]:
    """The processes at rest, and what a run adds to a runner."""
    stand, runs = bench.stand, bench.sizes.runs
    for contender in (*relays(stand), *peers(stand), Product(stand)):
        await _warm(contender)
        at_rest = processes.memory(contender.parts()[contender.worker])
        bench.compared.note(contender.name, Column.MEMORY, at_rest.resident / MB)
    runner, web = (processes.memory(stand.product[name]) for name in ("runner", "web"))
    flowing = await _while_streaming(stand, runs, lambda: processes.memory(stand.product["runner"]))
    a_run = (flowing.shared_fairly - runner.shared_fairly) / runs / KB
    return [
        Figure("runner without LiteLLM, resident", runner.resident / MB, "MB", at_most(260)),
        Figure(f"runner with {runs} runs", flowing.resident / MB, "MB", at_most(260 + runs * 50 * KB / MB)),
        Figure(f"runner, for each of {runs} runs", a_run, "KB", at_most(50)),
        Figure("web process, resident", web.resident / MB, "MB", at_most(140)),
        Figure("runner with LiteLLM, resident", await _with_litellm(stand), "MB", at_most(260)),
    ]


async def sockets(bench: Bench) -> list[Figure]:
    """What an idle socket costs the web process."""
    stand, count = bench.stand, bench.sizes.sockets
    await _warm(Product(stand))
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
    """What all processes of an installation take while nobody asks anything, over a minute, so that what is done each
    minute is in it once. Before it a minute passes, in which nobody asks anything either: what was just loaded into the
    database has been tidied and written down by then, as the database would have done by itself while we measure.
    """
    for tidying in ("VACUUM (ANALYZE)", "CHECKPOINT"):
        await asyncio.to_thread(bench.stand.execute, tidying)
    await asyncio.sleep(bench.sizes.settle_s)
    await bench.quiet()
    before, began = processes.cpu_by_part(bench.stand.product), time.monotonic()
    await asyncio.sleep(bench.sizes.idle_s)
    after, seconds = processes.cpu_by_part(bench.stand.product), time.monotonic() - began
    parts = {name: (after[name] - before[name]) / seconds * 100 for name in after}
    return [
        Figure(
            "idle for a minute, all processes",
            sum(parts.values()),
            "% of a core",
            at_most(0.5),
            detail={"parts": parts},
        )
    ]


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
    "first_token": starts.first_token,
    "first_token_at_once": starts.first_token_at_once,
    "starts": starts.starts,
    "latency": streams.latency,
    "cpu": streams.cpu,
    "peers": streams.against_peers,
    "capacity": streams.capacity,
    "scaling": streams.scaling,
    "planned": planned.planned,
    "resume": resume.resume,
    "sockets": sockets,
    "read_path": read_path,
    "vectors": vectors,
    "ingesting": ingesting.ingesting,
    "chat_page": chat_page,
}
# Those that others are measured in, too.
WITH_PEERS = frozenset({"memory", "first_token", "first_token_at_once", "starts", "peers", "capacity", "scaling"})


async def _warm(contender: Contender) -> None:
    async with contender.lines(WARMING) as lines:
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
