"""What two do at once to a project: whoever comes second finds what the first left."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from hyperagent.lib.refusals import NotThere, Refused
from memory import projects
from memory.actions import documents
from memory.models import Project
from memory.personal_part import MemoryPart
from tests.at_once import elsewhere, somebody_waits
from tests.house.waiting import until
from tests.memory.giving import uploaded

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def media(tmp_path: Path, settings: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.mark.spec("B21", "B30")
def test_a_project_goes_to_nobody_who_is_just_leaving_it(alice: Any, bob: Any, charlie: Any) -> None:
    project = projects.create(alice, name="Plans")
    for member in (bob, charlie):
        projects.add_member(alice, project.pk, member.email)
    first, second = project.members.exclude(pk=alice.pk).order_by("date_joined", "pk")

    with ThreadPoolExecutor(1) as farewell:
        with transaction.atomic():
            projects.remove_member(first, project.pk, first.pk)
            erased = farewell.submit(elsewhere, lambda: MemoryPart().erase(alice.pk))
            until(somebody_waits, what="the farewell to wait")
        erased.result(20)

    assert Project.objects.get().owner == second


@pytest.mark.spec("B30")
def test_two_tabs_together_make_no_more_projects_than_a_person_may_own(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MAX_PROJECTS", 1)

    with ThreadPoolExecutor(1) as other_tab:
        with transaction.atomic():
            projects.create(alice, name="Plans")
            made = other_tab.submit(elsewhere, lambda: projects.create(alice, name="More plans"))
            until(lambda: somebody_waits() or made.done(), what="the other tab to wait, or to have its project")
        error = made.exception(20)

    assert isinstance(error, Refused)
    assert Project.objects.count() == 1


@pytest.mark.spec("B30")
def test_a_document_that_is_just_deleted_is_not_there_to_be_added(alice: Any) -> None:
    project, document = projects.create(alice, name="Plans"), uploaded(alice, "text")

    with ThreadPoolExecutor(1) as other_tab:
        with transaction.atomic():
            documents.delete(alice, document.pk)
            added = other_tab.submit(elsewhere, lambda: projects.add_documents(alice, project.pk, [document.pk]))
            until(somebody_waits, what="the other tab to wait")
        error = added.exception(20)

    assert isinstance(error, NotThere)
