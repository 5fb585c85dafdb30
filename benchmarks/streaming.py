"""Many streams at once through a contender: what a token costs, how late it is, how the log is written meanwhile."""

import asyncio
import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks import processes
from benchmarks.client import Heard
from benchmarks.contenders import Contender, Product
from benchmarks.figure import percentile
from benchmarks.stand import Stand

TOKENS_A_SECOND = 50
FIRST_TOKEN_TIMEOUT_S = 60.0
LATE_MS = 100.0
# Of the tokens that the model sends; what is missing piles up somewhere.
KEPT_UP = 0.95
# Streams do not keep step with each other, in life as here.
SPREAD_S = 1.0
# What a start costs is another figure: hundreds in one second would still be starting while the first have ended.
STARTS_A_SECOND = 20

_COMMITS = """
SELECT count(DISTINCT xmin::text), count(*) FROM agents_event
WHERE created_at >= to_timestamp(%s) AND created_at < to_timestamp(%s)
"""


@dataclass(frozen=True, slots=True)
class Window:
    """What was seen in a stretch of time while all streams went on. CPU in seconds, by part."""

    contender: str
    worker: str
    streams: int
    rate: int
    seconds: float
    tokens: int
    cpu_s: Mapping[str, float]
    latencies_ms: Sequence[float]
    client_share: float
    """Of a core, by the load client; near 1 it measures itself."""
    others_share: float
    """Of a core, by programs that have nothing to do with this."""
    model_share: float = 0.0
    """Of a core, by the scripted model."""
    commits: int = 0
    events: int = 0
    repeated: int = 0

    @property
    def kept_up(self) -> bool:
        """Whether the tokens came as fast as the model sent them."""
        return self.tokens >= KEPT_UP * self.streams * self.rate * self.seconds

    @property
    def is_held(self) -> bool:
        """Whether so many streams can be held: they come as fast as they are sent, and soon after."""
        return self.kept_up and percentile(self.latencies_ms, 0.95) <= LATE_MS

    def worker_us_a_token(self) -> float:
        return self.cpu_us_a_token(self.worker)

    def cpu_us_a_token(self, part: str | None = None) -> float:
        spent_s = sum(self.cpu_s.values()) if part is None else self.cpu_s[part]
        return spent_s / self.tokens * 1e6

    def _latency_ms(self, share: float) -> float | None:
        return round(percentile(self.latencies_ms, share), 1) if self.latencies_ms else None

    def as_json(self) -> dict[str, object]:
        shares = {name: round(cpu_s / self.seconds, 4) for name, cpu_s in self.cpu_s.items()}
        return {
            "contender": self.contender,
            "worker": self.worker,
            "kept_up": self.kept_up,
            "streams": self.streams,
            "rate": self.rate,
            "seconds": round(self.seconds, 3),
            "tokens": self.tokens,
            "cpu_us_a_token": {name: round(self.cpu_us_a_token(name), 1) for name in self.cpu_s},
            "cores": shares,
            "client_share": round(self.client_share, 3),
            "others_share": round(self.others_share, 3),
            "model_share": round(self.model_share, 3),
            "latency_p50_ms": self._latency_ms(0.5),
            "latency_p95_ms": self._latency_ms(0.95),
            "commits": self.commits,
            "events": self.events,
            "repeated": self.repeated,
        }


def spread_s(streams: int) -> float:
    """How long it takes until so many have been asked for."""
    return max(SPREAD_S, streams / STARTS_A_SECOND)


def tokens_of(streams: int, *, warm_s: float, window_s: float, rate: int) -> int:
    """How long an answer has to be so that the first goes on until the window is over."""
    return int(rate * (spread_s(streams) + warm_s + window_s + 1))


async def watch_streams(
    contender: Contender, stand: Stand, *, streams: int, warm_s: float, window_s: float, rate: int = TOKENS_A_SECOND
) -> Window:
    """Opens the streams, waits until all flow, and looks for `window_s`. Returns when they have ended."""
    tokens = tokens_of(streams, warm_s=warm_s, window_s=window_s, rate=rate)
    heard = [Heard() for _ in range(streams)]
    async with contender.lines(streams) as lines, asyncio.TaskGroup() as group:
        for line, one in zip(lines, heard, strict=True):
            await asyncio.sleep(random.uniform(0, 2 * spread_s(streams) / streams))
            group.create_task(line.ask(f"say {tokens} tokens at {rate}/s stamped", one))
        async with asyncio.timeout(FIRST_TOKEN_TIMEOUT_S):
            for one in heard:
                await one.began.wait()
        await asyncio.sleep(warm_s)
        return await _look(contender, stand, heard, window_s, rate)
    raise AssertionError("unreachable")


async def _look(contender: Contender, stand: Stand, heard: Sequence[Heard], window_s: float, rate: int) -> Window:
    parts = contender.parts()
    before = processes.cpu_by_part(parts)
    model_s = processes.cpu_s([stand.pid("model")])
    busy_s, own_s, client_s = processes.machine_busy_s(), stand.cpu_s(), processes.cpu_s([os.getpid()])
    began_ns, began_at = time.monotonic_ns(), time.time()
    await asyncio.sleep(window_s)
    ended_ns, ended_at = time.monotonic_ns(), time.time()
    after = processes.cpu_by_part(parts)
    model_s = processes.cpu_s([stand.pid("model")]) - model_s
    client_s = processes.cpu_s([os.getpid()]) - client_s
    others_s = processes.machine_busy_s() - busy_s - (stand.cpu_s() - own_s) - client_s
    seconds = (ended_ns - began_ns) / 1e9
    counted = stand.query(_COMMITS, began_at, ended_at)[0] if contender.name == Product.name else (0, 0)
    return Window(
        contender=contender.name,
        worker=contender.worker,
        streams=len(heard),
        rate=rate,
        seconds=seconds,
        tokens=sum(one.tokens_between(began_ns, ended_ns) for one in heard),
        cpu_s={name: after[name] - before[name] for name in parts},
        latencies_ms=[late for one in heard for late in one.latencies_ms(began_ns, ended_ns)],
        client_share=client_s / seconds,
        others_share=max(0.0, others_s / seconds),
        model_share=model_s / seconds,
        commits=int(str(counted[0])),
        events=int(str(counted[1])),
        repeated=sum(one.repeated for one in heard),
    )
