"""Which runners are told of as such: those that were there lately, and did not stop in order."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from agents.models import Runner
from tests.runtime.driving import Runners, until
from tests.scripted.server import ScriptedServer

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def names() -> set[str]:
    return set(Runner.objects.values_list("name", flat=True))


@sync_to_async
def seen(name: str, *, before: timedelta) -> None:
    at = timezone.now() - before
    Runner.objects.create(name=name, host="there", pid=1, started_at=at, seen_at=at)


async def test_who_stops_in_order_is_not_missed_and_who_was_killed_is_for_a_day(
    make_runner: Runners, echo_server: ScriptedServer
) -> None:
    await seen("killed today", before=timedelta(hours=23))
    await seen("killed the other day", before=timedelta(hours=25))
    await make_runner(echo_server.url, name="stops")

    async def is_there() -> Any:
        return "stops" in await names()

    await until(is_there)
    await make_runner.stop()

    assert await names() == {"killed today"}
