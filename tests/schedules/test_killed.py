"""The death of whoever starts a time, at every one of their statements."""

import os
import subprocess
import sys
from typing import Any

import pytest

from agents.models import Execution
from conversations.models import Conversation, Message
from conversations.schedules.kinds import Talk
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.starting import start_due
from hyperagent.lib.conf import BASE_DIR
from tests.faces.web import database_url
from tests.schedules.making import falls_due, hourly, made


def written() -> tuple[int, ...]:
    return tuple(
        rows.count()
        for rows in (
            Execution.objects.all(),
            Message.objects.filter(role="user"),
            ScheduledRun.objects.all(),
            Conversation.objects.all(),
        )
    )


@pytest.mark.slow
@pytest.mark.spec("B27")
@pytest.mark.django_db(transaction=True)
def test_a_time_is_asked_once_whichever_statement_its_starter_dies_at(alice: Any) -> None:
    schedule = made(alice, hourly(talk=Talk.SAME))
    env = {**os.environ, "DATABASE_URL": database_url()}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.schedules.falling"],
        cwd=BASE_DIR, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        deaths = 0
        due = falls_due(schedule).next_due_at
        for at in range(1, 100):
            print(schedule.pk, at, file=process.stdin, flush=True)
            how = process.stdout.readline().strip()

            left = Schedule.objects.get(pk=schedule.pk)
            is_whole = written() == (1, 1, 1, 1) and left.next_due_at != due
            is_nothing = written() == (0, 0, 0, 0) and left.next_due_at == due
            assert is_whole if how == "done" else is_nothing, f"after a death before statement {at}: {written()}"
            if how == "done":
                break
            assert how == "killed"
            deaths += 1
        process.stdin.close()

    assert deaths > 12
    assert ScheduledRun.objects.get().due_at == due
    assert start_due(schedule.pk) is None
