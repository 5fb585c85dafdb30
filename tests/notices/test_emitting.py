"""What the apps above say is written once for each endpoint that may hear it, and nowhere else."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django_q.models import OrmQ

from agents.engine.states import ExecutionStatus
from conversations import actions as conversations
from conversations.tasks import turn_finished
from hyperagent.notices import actions
from hyperagent.notices.kinds import EventType
from hyperagent.notices.models import Delivery
from tests.faces.runs import append, make_run, tokens

pytestmark = pytest.mark.django_db
Add = Callable[..., tuple[Any, str]]
URL = "https://example.org/hooks"


def emit(user: Any, **more: Any) -> int:
    values: dict[str, Any] = {"subject_id": uuid.uuid4(), "payload": {"request_id": "1", "kind": "approval"}, **more}
    return actions.emit(EventType.APPROVAL_REQUESTED, user_id=user.pk if user else None, **values)


@pytest.mark.spec("B22")
def test_only_the_owners_endpoints_and_the_installations_hear_of_it(
    add: Add, alice: Any, bob: Any, charlie: Any
) -> None:
    alices, installations = add(alice, URL)[0], add(None, URL)[0]
    add(charlie, URL)
    add(bob, URL)

    written = emit(alice, title="Send the offer", path="/inbox/1")

    told = {delivery.endpoint_id: delivery.payload for delivery in Delivery.objects.all()}
    assert written == 2
    assert told[alices.pk]["type"] == "approval.requested"
    assert told[alices.pk]["data"] == {
        "request_id": "1",
        "kind": "approval",
        "link": "http://127.0.0.1:8000/inbox/1",
        "title": "Send the offer",
    }
    assert "title" not in told[installations.pk]["data"], "administrators see ids, not what people write"


def test_an_approver_hears_of_what_they_shall_decide(add: Add, alice: Any, bob: Any, charlie: Any) -> None:
    bobs = add(bob, URL)[0]
    add(charlie, URL)

    emit(alice, others=[bob.pk])

    assert [delivery.endpoint_id for delivery in Delivery.objects.all()] == [bobs.pk]


def test_the_same_event_is_written_once_and_has_one_id_everywhere(add: Add, alice: Any) -> None:
    add(alice, URL)
    add(None, URL)
    subject_id = uuid.uuid4()

    written = [emit(alice, subject_id=subject_id) for _ in range(3)]

    assert written == [2, 0, 0]
    assert Delivery.objects.values("event_id").distinct().count() == 1
    assert emit(alice, subject_id=uuid.uuid4()) == 2


def test_an_endpoint_hears_only_what_it_chose(add: Add, alice: Any) -> None:
    add(alice, URL, [EventType.RUN_FAILED])

    assert emit(alice) == 0


@pytest.mark.parametrize("change", ["disabled", "deleted", "inactive"])
def test_who_is_off_deleted_or_inactive_hears_nothing(add: Add, alice: Any, change: str) -> None:
    endpoint, _ = add(alice, URL)
    if change == "disabled":
        actions.change_endpoint(endpoint, enabled=False)
    elif change == "deleted":
        actions.delete_endpoint(endpoint)
    else:
        alice.is_active = False
        alice.save()

    assert emit(alice) == 0


def test_an_event_is_gone_with_the_transaction_that_said_it(add: Add, alice: Any) -> None:
    add(alice, URL)

    with transaction.atomic():
        emit(alice)
        transaction.set_rollback(True)

    assert (Delivery.objects.count(), OrmQ.objects.count()) == (0, 0)


def test_nobody_listens_costs_one_query(alice: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3):  # with the savepoint's two
        assert emit(alice) == 0


def test_text_that_others_wrote_is_cleaned_and_cut(add: Add, alice: Any) -> None:
    add(alice, URL)

    emit(alice, title="A\r\nB\x00" + "x" * 500, payload={"agent": "a\x00b", "tools": ["y" * 1000]})

    data = Delivery.objects.get().payload["data"]
    assert data["title"].startswith("A B")
    assert len(data["title"]) == 120
    assert data["agent"] == "a\ufffdb"
    assert len(data["tools"][0]) == 300


@pytest.mark.parametrize("path", ["//evil.example/x", "https://evil.example/", "inbox/1", "/\\evil.example"])
def test_a_link_leads_to_this_site_or_nowhere(add: Add, alice: Any, path: str) -> None:
    add(alice, URL)

    with pytest.raises(ValueError, match="no path of this site"):
        emit(alice, path=path)


@pytest.mark.spec("B22")
@pytest.mark.parametrize(
    ("status", "types"), [("completed", ["run.completed"]), ("failed", ["run.failed"]), ("cancelled", [])]
)
def test_the_end_of_a_run_is_told_once_however_often_its_job_comes(
    add: Add, alice: Any, charlie: Any, status: str, types: list[str]
) -> None:
    add(alice, URL)
    add(charlie, URL)
    said = conversations.say(
        alice, conversations.create(alice).id, conversations.Question("What does the secret report say of Acme?")
    )
    run = said.execution
    run.status, run.ended_at = ExecutionStatus(status), run.created_at
    run.answer, run.error_code = "The whole answer", "model_failed" if status == "failed" else ""
    run.save()

    turn_finished(str(run.id))
    turn_finished(str(run.id))

    run.refresh_from_db()
    assert [delivery.type for delivery in Delivery.objects.all()] == types
    assert run.finish_handled_at is not None
    for delivery in Delivery.objects.all():
        data = delivery.payload["data"]
        assert data["execution_id"] == str(run.id)
        assert data["link"] == f"http://127.0.0.1:8000/c/{said.conversation.id}/"
        assert data["title"] == "What does the secret report say of Acme?"
        assert "The whole answer" not in str(delivery.payload)


def test_a_run_that_goes_on_is_told_of_by_nobody(add: Add, alice: Any) -> None:
    add(alice, URL)
    run = make_run(alice)
    append(run, *tokens("half"))

    turn_finished(str(run.id))

    assert Delivery.objects.count() == 0
