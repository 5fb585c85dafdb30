"""A hundred questions of one person, and a few of another's, which do not wait the longer for it. The whole pipeline,
by a real runner that drives few runs at once.
"""

from typing import Any, Final

import pytest

from agents.models import Execution
from tests.runtime.driving import Runners, ended, start, until
from tests.scripted.server import ScriptedServer

AT_ONCE: Final = 4
QUEUED: Final = 100
# Half a second each: all of Alice's take 12 s at least.
QUESTION: Final = "say 10 tokens at 20/s"


async def waiting(user: Any) -> int:
    return await Execution.objects.filter(user=user, started_at=None).acount()


async def begun_before(run: Execution, *, of: Any) -> int:
    """How many of their runs were begun while this one waited."""
    while_it_waited = (run.created_at, run.started_at)
    return await Execution.objects.filter(user=of, started_at__range=while_it_waited).acount()


@pytest.mark.slow
@pytest.mark.threat("T30")
async def test_a_question_begins_with_the_next_place_however_many_another_person_has_asked(
    alice: Any, bob: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    of_alice = [await start(alice, QUESTION) for _ in range(QUEUED)]
    # A lease that no pause of a busy machine outlasts: a run that is begun anew would count twice.
    await make_runner(echo_server.url, concurrency=AT_ONCE, lease_s=60)

    async def is_busy() -> bool:
        return await waiting(alice) <= QUEUED - AT_ONCE

    await until(is_busy)
    of_bob = [await ended(await start(bob, QUESTION), timeout_s=60) for _ in range(3)]

    assert {run.status for run in of_bob} == {"completed"}
    for run in of_bob:
        # One for each place; more where a busy machine takes long to store the question itself.
        assert await begun_before(run, of=alice) <= QUEUED // 5
    assert await waiting(alice) > QUEUED // 3, "all three were answered while most of hers had not begun"
    last = await ended(of_alice[-1], timeout_s=90)
    assert last.status == "completed"
