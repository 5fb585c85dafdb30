"""How soon a run with many recorded steps goes on in another process: its runner is killed in the midst of it.

The run is a plan whose agents call tools, through the product's own journal; the last agent's model holds its answer.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence

import aiohttp

from benchmarks.bench import Bench
from benchmarks.client import Heard, http_session
from benchmarks.contenders import Product
from benchmarks.figure import Figure, at_most, of_rounds
from benchmarks.model import Asked, Model
from benchmarks.stand import Stand
from tests.pipeline.graphs import QUESTION, SATISFIED, plan_text
from tests.scripted.script import Script, ScriptedCall

TIMEOUT_S = 120.0
LOOK_S = 0.02
LAST = "last"
# At most so many calls does the product make at once of one answer.
CALLS_AT_ONCE = 16
_STEPS = """
SELECT count(*) FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id
WHERE a.execution_id = %s AND s.status = 'finished' AND s.cut_at IS NULL
"""
# The claim's own time; the row itself is written again with each heartbeat.
_WATCH_CLAIMS = """
CREATE TABLE bench_claim (execution_id uuid, at timestamptz);
CREATE FUNCTION bench_note_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bench_claim VALUES (NEW.id, clock_timestamp());
    RETURN NULL;
END $$;
CREATE TRIGGER bench_claim AFTER UPDATE ON agents_execution FOR EACH ROW
    WHEN (OLD.status <> 'running' AND NEW.status = 'running') EXECUTE FUNCTION bench_note_claim();
"""
_UNWATCH_CLAIMS = "DROP TRIGGER bench_claim ON agents_execution; DROP FUNCTION bench_note_claim; DROP TABLE bench_claim"
_LAST_CLAIM = "SELECT extract(epoch FROM max(at)) * 1e9, count(*) FROM bench_claim WHERE execution_id = %s"


async def resume(bench: Bench) -> list[Figure]:
    """From the claim by a new process to the first thing of the run that was not done before."""
    stand = bench.stand
    goes_on, dead, steps = [], [], 0
    stand.execute(_WATCH_CLAIMS)
    try:
        async with http_session() as session:
            for _ in range(bench.sizes.resume_rounds):
                await bench.quiet()
                claimed_ms, next_ms, steps = await _killed_and_resumed(stand, session, agents=bench.sizes.resume_agents)
                dead.append(claimed_ms)
                goes_on.append(next_ms)
    finally:
        stand.execute(_UNWATCH_CLAIMS)
    return [
        of_rounds(f"resume with {steps} recorded steps, claim → next step", goes_on, "ms", at_most(150)),
        of_rounds("runner killed → its run claimed by a new one", dead, "ms"),
    ]


async def _killed_and_resumed(stand: Stand, session: aiohttp.ClientSession, *, agents: int) -> tuple[float, float, int]:
    """Milliseconds from the kill to the claim, and from there to the next step; how many steps were recorded."""
    model, heard = Model(session, stand.model_url), Heard()
    await model.begin(script(agents))
    async with Product(stand).lines(1) as (line,), asyncio.timeout(TIMEOUT_S), asyncio.TaskGroup() as group:
        group.create_task(line.ask(QUESTION, heard))
        await _until(lambda: _held(model, times=1))
        steps = int(str(stand.query(_STEPS, heard.execution_id)[0][0]))
        killed_ns = time.time_ns()
        os.kill(stand.product["runner"], signal.SIGKILL)
        await _until(lambda: _held(model, times=2))
        again = (await _waiting_calls(model))[-1]
        await model.release()
    claimed_ns, claims = (float(str(one)) for one in stand.query(_LAST_CLAIM, heard.execution_id)[0])
    if claims != 2:
        raise RuntimeError(f"the run was claimed {claims:g} times and not twice: something else took its runner away")
    stand.find_runner()
    offset_ns = time.time_ns() - time.monotonic_ns()
    return (claimed_ns - killed_ns) / 1e6, (again.came_ns + offset_ns - claimed_ns) / 1e6, steps


def script(agents: int) -> list[Script]:
    """So many agents that each list files many times, side by side, and one after them whose answer is held."""
    first = [f"part{number}" for number in range(agents)]
    graph = {**dict.fromkeys(first, ()), LAST: tuple(first)}
    return [
        Script(match=QUESTION, text=plan_text(graph)),
        *(line for name in first for line in _listing(name)),
        Script(match=f"Work on {LAST} now.", text="Found the last.", held_after=0, times=0),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="All of it was found."),
    ]


def _listing(name: str) -> list[Script]:
    prefixes = [f"{name}-{number}" for number in range(CALLS_AT_ONCE)]
    calls = [ScriptedCall(name="list_files", arguments=json.dumps({"prefix": prefix})) for prefix in prefixes]
    asked = f"Work on {name} now."
    return [Script(match=asked, tool_calls=calls), Script(match=asked, text=f"Found {name}.")]


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    while not await is_so():
        await asyncio.sleep(LOOK_S)


async def _held(model: Model, *, times: int) -> bool:
    return len(await _waiting_calls(model)) >= times


async def _waiting_calls(model: Model) -> Sequence[Asked]:
    """The calls of the last agent, which are held or were broken off."""
    return [call for call in await model.asked() if f"Work on {LAST} now." in call.last_user]
