"""What a planned run costs beside its model calls: a graph of twelve agents with a model that answers at once."""

import asyncio

import aiohttp

from benchmarks.bench import Bench
from benchmarks.client import Heard, http_session
from benchmarks.contenders import Product
from benchmarks.figure import Figure, at_most, of_rounds
from benchmarks.model import Asked, Model, critical_path
from benchmarks.stand import Stand
from tests.pipeline.graphs import QUESTION, TWELVE, lines

TIMEOUT_S = 60.0
_AGENTS = """
SELECT count(*), extract(epoch FROM min(started_at)) * 1000.0, extract(epoch FROM max(ended_at)) * 1000.0
FROM agents_agentexecution WHERE execution_id = %s AND step_id <> '' AND status = 'completed'
"""


async def planned(bench: Bench) -> list[Figure]:
    """From the question to the end of the answer, without the model's calls that it waited for."""
    stand = bench.stand
    whole, each, waited = [], [], []
    async with http_session() as session:
        # The first fills caches, as the first questions to any process do.
        for number in range(bench.sizes.planned_rounds + 1):
            await bench.quiet()
            heard, calls = await _ask(stand, session)
            agents, agents_ms = _agents(stand, heard)
            path = critical_path(calls)
            model_ms = sum(call.took_ms for call in path)
            among_agents_ms = sum(call.took_ms for call in path if call.last_user.find("Work on ") >= 0)
            if number:
                waited.append(model_ms)
                whole.append((heard.ended_ns - heard.asked_ns) / 1e6 - model_ms)
                each.append((agents_ms - among_agents_ms) / agents)
    name = f"{len(TWELVE)} agents, instant model"
    return [
        of_rounds(f"{name}: question to answer, without the model", whole, "ms", at_most(250), model_ms=waited),
        of_rounds(f"{name}: each agent", each, "ms", at_most(15)),
    ]


async def _ask(stand: Stand, session: aiohttp.ClientSession) -> tuple[Heard, list[Asked]]:
    model, heard = Model(session, stand.model_url), Heard()
    await model.begin(lines(TWELVE))
    async with Product(stand).lines(1) as (line,), asyncio.timeout(TIMEOUT_S):
        await line.ask(QUESTION, heard)
    return heard, [call for call in await model.asked() if call.ended_ns <= heard.ended_ns]


def _agents(stand: Stand, heard: Heard) -> tuple[int, float]:
    """How many agents of the plan there were, and the time from the first one's beginning to the last one's end."""
    count, began_ms, ended_ms = stand.query(_AGENTS, heard.execution_id)[0]
    if count != len(TWELVE):
        raise RuntimeError(f"{count} of the {len(TWELVE)} agents of the plan completed: the run went another way")
    return int(str(count)), float(str(ended_ms)) - float(str(began_ms))
