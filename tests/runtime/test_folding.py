"""Folded logs: fewer rows, and nothing that anybody reads is another."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.utils import timezone

from agents.log import reading
from agents.log.folding import AT_ONCE, fold, fold_ended
from agents.models import Event, Execution
from tests.runtime.driving import Runners, ended, start
from tests.scripted.server import ScriptedServer


@pytest.mark.spec("B9")
async def test_a_folded_log_reads_as_before_from_every_number_and_its_chain_is_whole(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    run = await ended(await start(alice, "say 60 tokens at 100/s"))
    before = await sync_to_async(reading.events_after)(run.id, 0)
    rows = await Event.objects.filter(execution=run).acount()

    assert await sync_to_async(fold)(run.id) > 0

    assert await Event.objects.filter(execution=run).acount() < rows / 2
    for after in range(run.last_seq + 1):
        assert await sync_to_async(reading.events_after)(run.id, after) == before[after:]
        assert await sync_to_async(reading.events_after)(run.id, after, limit=3) == before[after : after + 3]
    await sync_to_async(call_command)("verify_log", str(run.id))
    assert await sync_to_async(fold)(run.id) == 0


async def test_a_change_within_a_fold_is_found(alice: Any, echo_server: ScriptedServer, make_runner: Runners) -> None:
    await make_runner(echo_server.url)
    run = await ended(await start(alice, "say 60 tokens at 100/s"))
    await sync_to_async(fold)(run.id)
    folded = await Event.objects.filter(execution=run, frames__gt=1).order_by("seq").afirst()
    assert folded is not None

    folded.body = folded.body.replace("w1 ", "w9 ", 1)
    await folded.asave()

    with pytest.raises(SystemExit):
        await sync_to_async(call_command)("verify_log", str(run.id))


@pytest.mark.slow
@pytest.mark.django_db
def test_all_that_ended_is_folded_however_much_it_is(alice: Any) -> None:
    """A hundred in five minutes were fewer than ten thousand people have in an hour."""
    past = timezone.now() - timedelta(hours=1)
    begun = {"user": alice, "question": "Why?", "input": {"version": 1}, "status": "completed"}
    Execution.objects.bulk_create(Execution(**begun, started_at=past, ended_at=past) for _ in range(2 * AT_ONCE + 1))

    fold_ended()

    assert not Execution.objects.filter(log_folded_at=None).exists()
