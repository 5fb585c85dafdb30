"""Copies of generated runs, forked at any step or with any agent begun anew, end as the runs did, each effect once.

`ENGINE_EXAMPLES=2000 pytest tests/engine/test_copies_of_any_run.py --timeout=0` looks longer than CI does.
"""

import asyncio

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agents.engine.copying import Kept, kept_for_fork, kept_for_retry
from tests.doubles.memory_journal import Death
from tests.engine.programs import All, Ask, Body, Do, DoTheSame, Fork, Limited, Note, Skip, Step, Wait, bodies, size
from tests.engine.test_kill_at_every_record import EXAMPLES, Life, deaths_from

COPIES = 6


def another_try(life: Life) -> Kept | None:
    """Any agent begins anew, or goes on from any of its steps; None if there is no step."""
    past = life.store.past(life.id)
    agent = life.outside.chance.choice(past)
    if life.outside.chance.random() < 0.5:
        return kept_for_retry(past, [agent.id])
    if not agent.steps:
        return None
    return kept_for_fork(past, agent.id, life.outside.chance.choice(agent.steps).path)


async def survives_copies(body: Body, seed: int) -> None:
    life = Life(body, seed)
    expected = await life.live()
    for number in range(COPIES):
        kept = another_try(life)
        if kept is None:
            continue
        life.case.copy(kept)
        death = life.outside.chance.choice(list(Death))
        life.kills = 0
        end = await life.live(deaths_from(death, life.writes // 2 + number, life))

        assert end == expected
        life.check_copy()


@pytest.mark.spec("B14", "B2")
@pytest.mark.timeout(600)
@settings(
    max_examples=EXAMPLES or 60,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@example((Fork((Ask(), Do())), Fork((Step(), Skip()), 1), Fork((DoTheSame(), Ask()), 2), Note(), Wait()), 1)
@example((All(((Fork((Do(),)), Wait(), Note()), (DoTheSame(), Ask(), Step()))), Limited((Do(), Ask()), True)), 2)
@given(bodies().filter(lambda body: size(body) <= 16), st.integers(0, 2**16))
def test_a_copy_of_a_run_ends_as_the_run_did_and_repeats_no_effect(body: Body, seed: int) -> None:
    asyncio.run(survives_copies(body, seed))
