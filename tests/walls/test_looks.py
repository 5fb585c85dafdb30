"""Who reads what others said is noted: each look, whoever looks, by whatever right; and auditors see the notes."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from agents.models import Execution
from agents.usage.models import ModelCall
from hitl.models import Decision, Request
from hyperagent.lib.looks import LOOKED, READ, READ_PREVIEW
from tests.faces.conftest import in_threads
from tests.faces.runs import make_request, make_run
from tests.walls.owners import WORD, person_with

__all__ = ["in_threads"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice: Any) -> Execution:
    return make_run(alice, question=f"{WORD} question")


def page_of(row: Any) -> str:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"


def looks() -> list[tuple[str, str, str]]:
    """By whom, at what, how."""
    found = LogEntry.objects.filter(action_flag=LOOKED).order_by("id").select_related("user")
    return [(str(one.user), str(one.object_id), one.change_message) for one in found]


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.slow
@pytest.mark.spec("S210")
@pytest.mark.threat("T06")
def test_each_look_at_what_alice_asked_is_noted_and_none_at_ones_own(run: Execution, bob: Any) -> None:
    own = make_run(bob, question="Bob's own")
    without = signed_in(bob).get(page_of(run)).content.decode()
    assert (WORD in without, looks()) == (False, [])

    bob.user_permissions.add(Permission.objects.get(codename="view_content"))
    client = signed_in(bob)
    shown = [client.get(page_of(row)).content.decode() for row in (run, own, run)]
    client.get("/admin/agents/execution/")

    assert WORD in shown[0]
    assert looks() == [(str(bob), str(run.pk), READ)] * 2


@pytest.mark.threat("T06")
def test_questions_in_lists_for_administrators_are_looks_too(run: Execution, alice: Any, bob: Any) -> None:
    bob.user_permissions.add(Permission.objects.get(codename="view_content"))
    ModelCall.objects.create(
        step_id=1, user=alice, execution_id=run.pk, agent_name="chat", provider="p", model="m",
        prompt_tokens=5, completion_tokens=5, at=timezone.now() - timedelta(minutes=5),
    )  # fmt: skip
    client = signed_in(bob)

    listed = client.get("/api/v1/executions", {"user": str(alice.pk)}).content.decode()
    used = client.get("/usage/", {"all": "true"}).content.decode()
    signed_in(alice).get("/api/v1/executions")

    assert (WORD in listed, WORD in used) == (True, True)
    assert looks() == [(str(bob), str(run.pk), READ_PREVIEW)] * 2


@pytest.mark.threat("T06")
def test_an_administrator_without_the_permission_is_told_of_no_words_in_any_list(
    run: Execution, alice: Any, bob: Any
) -> None:
    make_request(run, question={"question": f"{WORD} asked"})
    client = signed_in(bob)

    for url in (
        f"/api/v1/executions?user={alice.pk}",
        f"/api/v1/usage?user={alice.pk}&group_by=day",
        f"/usage/?user={alice.pk}",
        "/usage/?all=true",
        "/usage/file?all=true&group_by=user",
    ):
        answer = client.get(url)
        assert answer.status_code == 200, url
        assert WORD not in answer.getvalue().decode(), url
    assert looks() == []


@pytest.mark.threat("T06")
@pytest.mark.usefixtures("in_threads")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", ["json", "csv"])
async def test_nor_by_the_file_of_decisions(alice: Any, bob: Any, form: str) -> None:
    request = await sync_to_async(make_request)(await sync_to_async(make_run)(alice), question={"question": WORD})
    said = {"happening": "denied", "actor_name": alice.email, "note": f"{WORD} noted", "details": {"text": WORD}}
    await sync_to_async(Decision.objects.create)(request=request, via="page", **said)
    client = await sync_to_async(signed_in)(bob)

    answer = await sync_to_async(client.get)(f"/admin/hitl/decision/export.{form}")
    told = b"".join([part async for part in answer.streaming_content]).decode()  # type: ignore[attr-defined]

    assert (str(request.pk) in told, WORD in told) == (True, False)
    assert await sync_to_async(looks)() == []


@pytest.mark.threat("T06")
def test_auditors_see_who_looked_and_their_own_looks_are_noted(run: Execution, bob: Any) -> None:
    asked = make_request(run, question={"question": f"{WORD} asked"})
    auditor, reviewer = signed_in(person_with("auditor")), signed_in(person_with("reviewer"))

    assert WORD in auditor.get(page_of(asked)).content.decode()
    exported = auditor.get("/admin/hitl/decision/export.json")
    listed = auditor.get("/admin/admin/logentry/").content.decode()

    assert exported.status_code == 200
    assert [(by, what) for by, what, _ in looks()] == [
        ("auditor@example.org", str(asked.pk)), ("auditor@example.org", "None"),
    ]  # fmt: skip
    assert "auditor@example.org" in listed
    assert str(Request.objects.get().pk) in listed
    assert reviewer.get("/admin/admin/logentry/").status_code == 403
    entry = LogEntry.objects.earliest("id")
    for url in (f"/admin/admin/logentry/{entry.pk}/delete/", page_of(entry), "/admin/admin/logentry/add/"):
        assert signed_in(bob).post(url, {"post": "yes"}).status_code == 403, url
