"""What a chat feels of ingestion: how late its tokens are and how long the first takes, with and without documents
being read and embedded beside it, in turns."""

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from benchmarks.bench import Bench
from benchmarks.client import Refused, http_session
from benchmarks.contenders import Product
from benchmarks.figure import Figure, at_most, of_rounds, percentile, shares
from benchmarks.first_token import ask_in_turns, stations
from benchmarks.stand import Stand
from benchmarks.streaming import watch_streams

SLOWED_BY: Final = 1.2
PAGES: Final = 200
LINES_A_PAGE: Final = 40
# So many wait or are being read or embedded at any time: there is always more of each to do.
AT_ONCE: Final = 4
LOOK_S: Final = 0.5
DONE_TIMEOUT_S: Final = 60.0
_LINE: Final = (
    "The turbine of plant {} was serviced in week {} and its bearings were replaced by the crew of station {}. "
)
_UNFINISHED: Final = """
SELECT status, count(*) FROM memory_document WHERE status IN ('queued', 'reading', 'indexing', 'embedding') GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Felt:
    """By one person or several, in ms. `legs_ms`: of the way to the first token, the median of each."""

    first_tokens_ms: Sequence[float]
    latencies_ms: Sequence[float]
    legs_ms: Mapping[str, float]


async def ingesting(bench: Bench) -> list[Figure]:
    """With documents coming in all the time, beside the same without. Whoever asks has a document all along: a question
    is compared with what one has, whether or not more is coming."""
    alone, beside = [], []
    stand = bench.stand
    async with http_session() as session:
        await _give(stand, session, pages=1)
        await _until_done(stand)
        for _ in range(bench.sizes.rounds):
            await bench.quiet()
            alone.append(await _felt(bench))
            async with _documents_coming(stand, session):
                beside.append(await _felt(bench))
    streams = bench.sizes.late_streams
    return [
        *_figures(
            f"token latency at {streams} streams",
            [one.latencies_ms for one in beside],
            [one.latencies_ms for one in alone],
        ),
        *_figures(
            "time to first token",
            [one.first_tokens_ms for one in beside],
            [one.first_tokens_ms for one in alone],
            legs_beside_ms=[one.legs_ms for one in beside],
            legs_alone_ms=[one.legs_ms for one in alone],
        ),
    ]


def _figures(
    name: str, beside: Sequence[Sequence[float]], alone: Sequence[Sequence[float]], **more: Any
) -> list[Figure]:
    figures = []
    for share in (0.5, 0.95):
        with_it, without = ([percentile(one, share) for one in some] for some in (beside, alone))
        figures.append(
            of_rounds(
                f"{name}, p{share * 100:.0f}: beside ingestion / alone",
                shares(with_it, without),
                "×",
                at_most(SLOWED_BY),
                beside_ms=with_it,
                alone_ms=without,
                **more,
            )
        )
    return figures


async def _felt(bench: Bench) -> Felt:
    stand, sizes = bench.stand, bench.sizes
    product = Product(stand)
    first = await ask_in_turns([product], rounds=sizes.first_tokens, at_once=1)
    legs = stations(stand, first.runs, clock_offset_ms=(time.time_ns() - time.monotonic_ns()) / 1e6)
    medians = {name: percentile(some, 0.5) for name, some in legs.items() if some}
    seen = await watch_streams(product, stand, streams=sizes.late_streams, warm_s=sizes.warm_s, window_s=sizes.window_s)
    bench.windows.append(seen)
    return Felt(first.by_contender[product.name], seen.latencies_ms, medians)


@asynccontextmanager
async def _documents_coming(stand: Stand, session: aiohttp.ClientSession) -> AsyncIterator[None]:
    """Entered once vectors are being made; what came is gone again at its end."""
    before = await _documents(stand)
    giving = asyncio.create_task(_keep_giving(stand, session))
    try:
        while "embedding" not in await _unfinished(stand):
            if giving.done():
                giving.result()
            await asyncio.sleep(LOOK_S)
        yield
    finally:
        giving.cancel()
        await asyncio.gather(giving, return_exceptions=True)
        for document_id in await _documents(stand) - before:
            await _ask(stand, session, "DELETE", f"documents/{document_id}")
        await _until_done(stand)


async def _keep_giving(stand: Stand, session: aiohttp.ClientSession) -> None:
    while True:
        if sum((await _unfinished(stand)).values()) < AT_ONCE:
            await _give(stand, session, pages=PAGES)
        else:
            await asyncio.sleep(LOOK_S)


async def _give(stand: Stand, session: aiohttp.ClientSession, *, pages: int) -> None:
    form = aiohttp.FormData()
    form.add_field("file", _text(pages), filename=f"{uuid.uuid4().hex}.txt", content_type="text/plain")
    await _ask(stand, session, "POST", "documents", form)


async def _until_done(stand: Stand) -> None:
    async with asyncio.timeout(DONE_TIMEOUT_S):
        while await _unfinished(stand):
            await asyncio.sleep(LOOK_S)


async def _documents(stand: Stand) -> set[object]:
    return {id_ for (id_,) in await asyncio.to_thread(stand.query, "SELECT id FROM memory_document")}


async def _ask(
    stand: Stand, session: aiohttp.ClientSession, method: str, path: str, body: aiohttp.FormData | None = None
) -> None:
    headers = {"Authorization": f"Bearer {stand.token}"}
    async with session.request(method, f"{stand.web_url}/api/v1/{path}", data=body, headers=headers) as response:
        if response.status >= 300:
            raise Refused(f"{method} {path} answered {response.status}: {(await response.text())[:300]}")


async def _unfinished(stand: Stand) -> dict[str, int]:
    rows = await asyncio.to_thread(stand.query, _UNFINISHED)
    return {str(status): int(str(count)) for status, count in rows}


def _text(pages: int) -> bytes:
    lines = (_LINE.format(*random.sample(range(10_000), 3)) for _ in range(pages * LINES_A_PAGE))
    return "\n".join(lines).encode()
