"""A run whose runner is known to be dead is taken over when that is said, not when others happen to look."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.models import Execution
from agents.runtime import runner
from tests.runtime.driving import ended, events, execution, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("B1")
async def test_the_only_run_of_a_dead_runner_goes_on_at_once(
    alice: Any, echo_server: Any, make_runner: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 3600)
    id_ = await start(alice, "say 3 tokens")
    await sync_to_async(Execution.objects.filter(id=id_).update)(status="running", leased_by="dead", epoch=1)
    await make_runner(echo_server.url, name="other", lease_s=36_000)
    before = await start(alice, "say 2 tokens")
    await ended(before)

    assert (await execution(id_)).leased_by == "dead"
    assert await sync_to_async(actions.release_runner)("dead") == 1
    run = await ended(id_)

    assert (run.status, run.answer) == ("completed", "w0 w1 w2")
    shut = [one["reason"] for one in await events(id_) if one["type"] == "agent_shutdown"]
    assert shut == ["crash"]
