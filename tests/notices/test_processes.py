"""With the real queue: what is said in a transaction leaves with its commit, and a killed process loses nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from agents.engine.states import ExecutionStatus
from conversations import actions as conversations
from hyperagent.lib import queue
from hyperagent.notices import actions
from hyperagent.notices.delivering import LEASE_S
from hyperagent.notices.kinds import EventType, MailKind
from hyperagent.notices.models import Delivery, Mail
from tests.house.test_queue import cluster_of, worker
from tests.house.waiting import until
from tests.notices.conftest import later
from tests.notices.receiver import Receiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Add = Callable[..., tuple[Any, str]]


@pytest.fixture(autouse=True)
def _workers_may_reach_the_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", "true")


@pytest.mark.spec("B22")
def test_the_end_of_a_run_reaches_the_receiver_and_a_request_the_mailbox(
    add: Add, alice: Any, bob: Any, receiver: Receiver, tmp_path: Path
) -> None:
    _, secret = add(alice, receiver.url)
    run = conversations.say(alice, conversations.create(alice).id, conversations.Question("What is it?")).execution
    run.status, run.ended_at = ExecutionStatus.COMPLETED, run.created_at
    run.save()

    with worker(tmp_path / "log"):
        queue.enqueue(run.on_finish, run.id)
        with transaction.atomic():
            actions.tell_people([bob.pk], MailKind.REQUEST_WAITING, subject_id="r1", title="x", path="/inbox/r1")
        until(lambda: Delivery.objects.filter(status="delivered").count() == 1, what="the delivery")
        until(lambda: Mail.objects.exclude(sent_at=None).count() == 1, what="the mail")

    (got,) = receiver.got
    assert got.event["type"] == "run.completed"
    assert got.event["data"]["execution_id"] == str(run.id)
    assert got.is_signed_with(secret)


@pytest.mark.spec("B22")
def test_a_process_that_is_killed_while_it_sends_is_followed_by_another(
    add: Add, alice: Any, receiver: Receiver, tmp_path: Path
) -> None:
    receiver.answers = [receiver.hang]
    add(alice, receiver.url)

    with worker(tmp_path / "log") as parent:
        actions.emit(EventType.RUN_FAILED, user_id=alice.pk, subject_id="1", payload={"id": "1"})
        until(lambda: receiver.got, what="the first try")
        cluster_of(parent)[2].kill()
        later(LEASE_S)
        queue.enqueue("hyperagent.notices.tasks.sweep_deliveries")
        until(lambda: Delivery.objects.get().status == "delivered", what="the second try", timeout_s=90)

    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert (first.body, Delivery.objects.get().attempts) == (second.body, 2)
