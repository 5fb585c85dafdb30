"""What is wanted of open boxes, by their rows."""

import uuid
from typing import Any

import pytest
from django.utils import timezone

from agents.models import Execution
from agents.sandbox.records import Owner, open_row, wishes
from tests.faces.runs import make_run


@pytest.mark.spec("F22")
@pytest.mark.django_db
def test_the_box_of_who_is_deactivated_waits_until_their_runs_are_told_to_stop(alice: Any) -> None:
    run = make_run(alice)
    box = open_row(Owner(alice.pk, uuid.uuid4()), provider="local", host="here")
    assert box is not None
    type(alice).objects.filter(pk=alice.pk).update(is_active=False)

    before = wishes([box])
    Execution.objects.filter(pk=run.pk).update(cancel_requested_at=timezone.now())

    assert before == []
    assert [(wish.session_id, wish.is_orphan) for wish in wishes([box])] == [(box, True)]
