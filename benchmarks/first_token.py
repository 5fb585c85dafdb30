"""The time from asking to the first token, and where it goes. Rounds alternate between the contenders."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.client import Heard, Line
from benchmarks.contenders import Contender, Product
from benchmarks.figure import percentile
from benchmarks.stand import Stand

QUESTION = "say 5 tokens at 50/s stamped"
ANSWER_TIMEOUT_S = 60.0
# A person has looked at the page for a while before asking; the socket has long been listening.
SETTLE_S = 0.4

# Until search has marked the question's row (every two minutes), its transaction is that of the asking.
_STATIONS = """
SELECT extract(epoch FROM pg_xact_commit_timestamp(q.xmin)) * 1000.0,
       extract(epoch FROM e.started_at) * 1000.0,
       min((v.body::json->>'timestamp')::float8),
       min((v.body::json->>'timestamp')::float8) FILTER (WHERE v.type = 'token'),
       extract(epoch FROM pg_xact_commit_timestamp(
           (min(v.xmin::text::bigint) FILTER (WHERE v.type = 'token'))::text::xid)) * 1000.0
FROM agents_execution e
JOIN conversations_message r ON r.execution_id = e.id JOIN conversations_message q ON q.id = r.parent_id
JOIN agents_event v ON v.execution_id = e.id
WHERE e.id = %s AND q.words_at IS NULL GROUP BY q.xmin, e.started_at
"""
STATIONS = (
    "ask → commit",
    "commit → claim",
    "claim → driver's first event",
    "driver → model's first token sent",
    "first token sent → in the runner",
    "in the runner → committed",
    "committed → at the client",
)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """First tokens by contender, in ms from asking; with the product's runs, to look up their stations."""

    by_contender: Mapping[str, Sequence[float]]
    runs: Sequence[Heard]

    def p50(self, name: str) -> float:
        return percentile(self.by_contender[name], 0.5)

    def added_ms(self, name: str, share: float = 0.5) -> float:
        """`share` 0..1 of the answers began within it, beyond what asking the model directly takes (its median)."""
        return percentile(self.by_contender[name], share) - self.p50("direct")


async def ask_in_turns(
    contenders: Sequence[Contender], *, rounds: int, at_once: int, within_s: float = 0.0
) -> Arrivals:
    """In each round every contender is asked `at_once` questions, one contender after the other.

    At the same moment, or one after the other `within_s`.
    """
    arrived: dict[str, list[float]] = {one.name: [] for one in contenders}
    runs: list[Heard] = []
    for number in range(rounds + 1):
        for contender in contenders:
            heard = await _ask(contender, at_once, within_s)
            # The first round opens connections and fills caches.
            if number > 0:
                arrived[contender.name] += [one.first_token_ms for one in heard]
                runs += heard if isinstance(contender, Product) else []
    return Arrivals(arrived, runs)


async def _ask(contender: Contender, at_once: int, within_s: float) -> list[Heard]:
    heard = [Heard() for _ in range(at_once)]

    async def ask(line: Line, one: Heard, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await line.ask(QUESTION, one)

    async with contender.lines(at_once) as lines, asyncio.timeout(ANSWER_TIMEOUT_S):
        await asyncio.sleep(SETTLE_S if isinstance(contender, Product) else 0)
        asked = [ask(lines[number], heard[number], number * within_s / at_once) for number in range(at_once)]
        await asyncio.gather(*asked)
    return heard


def stations(stand: Stand, runs: Sequence[Heard], *, clock_offset_ms: float) -> dict[str, list[float]]:
    """How long each leg of the way took, run by run, but for those that search has come upon; none at all if it was
    all of them. `clock_offset_ms`: wall clock minus monotonic clock."""
    legs: dict[str, list[float]] = {name: [] for name in STATIONS}
    for one in runs:
        rows = stand.query(_STATIONS, one.execution_id)
        if not rows:
            continue
        asked, sent, came = (ns / 1e6 + clock_offset_ms for ns in (one.asked_ns, one.sent_ns[0], one.came_ns[0]))
        committed, claimed, began, framed, stored = (float(str(value)) for value in rows[0])
        points = (asked, committed, claimed, began, sent, framed, stored, came)
        for name, start, end in zip(STATIONS, points, points[1:], strict=False):
            legs[name].append(end - start)
    return legs
