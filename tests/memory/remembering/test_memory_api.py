"""What is remembered over the API: its owner sees and changes it, nobody else does."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditEvent
from memory.kinds import MemoryKind, MemoryStatus, ProfileField
from memory.models import Memory
from memory.remembering import listing
from tests.memory.remembering.knowing import active, field, known, learned

pytestmark = pytest.mark.django_db
BASE = "/api/v1/memory"
JOB = ProfileField.JOB_TITLE
NO_FACTS: dict[str, Any] = {"user_name": None, "company_name": None, "job_title": None, "recent_projects": []}
NO_PREFERENCES: dict[str, Any] = {"tone": None, "detail_level": None, "language": None}


@pytest.mark.spec("B21")
def test_each_export_is_in_the_audit_log(alice: Any, api_of: Callable[..., Any], client: Client) -> None:
    client.force_login(alice)

    taken = api_of(alice).get(f"{BASE}/export"), client.get("/memory/export/")

    assert [answer.status_code for answer in taken] == [200, 200]
    logged = AuditEvent.objects.filter(kind=AuditKind.EXPORT_TAKEN, target_type="memories", actor_id=alice.pk)
    assert logged.count() == 2


@pytest.mark.slow
def test_an_export_has_all_however_many_they_are(alice: Any, api_of: Callable[..., Any]) -> None:
    Memory.objects.bulk_create(
        Memory(user=alice, kind=MemoryKind.FACT, text=f"Fact {number}", origin_key=str(number))
        for number in range(listing.MOST + 1)
    )

    shown, taken = (api_of(alice).get(f"{BASE}{path}").json()["memories"] for path in ("", "/export"))

    assert (len(shown), len(taken)) == (listing.MOST, listing.MOST + 1)


@pytest.mark.spec("S155", "S156", "B18")
def test_the_profile_and_each_memory_with_its_receipts_are_told(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = uuid.uuid4()
    learned(alice, field(JOB, "Engineer", evidence="I am an engineer"), conversation=conversation, turn="m-1")
    known(alice, "short", field=ProfileField.DETAIL_LEVEL, kind="preference")
    known(alice, "Atlas", field=ProfileField.RECENT_PROJECTS)

    shown = api_of(alice).get(BASE).json()

    assert shown["critical"] == {**NO_FACTS, "job_title": "Engineer", "recent_projects": ["Atlas"]}
    assert shown["preferences"] == {**NO_PREFERENCES, "detail_level": "short"}
    assert shown["on"] is True
    job = next(one for one in shown["memories"] if one["field"] == "job_title")
    assert (job["kind"], job["text"], job["status"], job["pinned"], job["uses"]) == (
        "fact",
        "Engineer",
        "active",
        False,
        [],
    )
    assert job["source"]["conversation_id"] == str(conversation)
    assert (job["source"]["turn"], job["source"]["excerpt"]) == ("m-1", "I am an engineer")


@pytest.mark.spec("S155", "S156")
def test_the_profile_names_what_is_not_known_too(alice: Any, api_of: Callable[..., Any]) -> None:
    shown = api_of(alice).get(BASE).json()

    assert (shown["critical"], shown["preferences"]) == (NO_FACTS, NO_PREFERENCES)


@pytest.mark.spec("S155", "S156")
def test_a_person_says_what_their_profile_holds_and_what_it_does_not(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    learned(alice, field(JOB, "Engineer"))
    known(alice, "Apollo", field=ProfileField.RECENT_PROJECTS)
    known(alice, "Atlas", field=ProfileField.RECENT_PROJECTS)

    said = {
        "critical": {"job_title": " Director ", "recent_projects": ["Borea", "Atlas"]},
        "preferences": {"tone": "formal"},
    }
    shown = api.patch(BASE, said, format="json").json()

    assert shown["critical"] == {**NO_FACTS, "job_title": "Director", "recent_projects": ["Borea", "Atlas"]}
    assert shown["preferences"] == {**NO_PREFERENCES, "tone": "formal"}
    assert shown["on"] is True
    tone = next(one for one in shown["memories"] if one["field"] == "tone")
    assert (tone["kind"], tone["text"], bool(tone["corrected_at"])) == ("preference", "formal", True)

    forgotten = {"critical": {"job_title": None, "recent_projects": []}, "preferences": {"tone": ""}}
    shown = api.patch(BASE, forgotten, format="json").json()

    assert (shown["critical"], shown["preferences"], shown["memories"]) == (NO_FACTS, NO_PREFERENCES, [])


def test_projects_are_told_in_the_order_in_which_their_person_said_them(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    known(alice, "Cumulus", field=ProfileField.RECENT_PROJECTS, status=MemoryStatus.QUARANTINED)

    def told(*projects: str) -> list[str]:
        shown = api.patch(BASE, {"critical": {"recent_projects": projects}}, format="json").json()
        return list(shown["critical"]["recent_projects"])

    assert told("Apollo", "Atlas") == ["Apollo", "Atlas"]
    assert told("Atlas", "Apollo") == ["Atlas", "Apollo"]
    assert told("Atlas", "Borea", "Apollo") == ["Atlas", "Borea", "Apollo"]
    assert told("Cumulus", "Atlas") == ["Cumulus", "Atlas"]


def test_what_a_person_says_of_themselves_is_accepted_and_replaced_by_no_machine(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    waiting = known(alice, "Director", field=JOB, status=MemoryStatus.QUARANTINED)

    api_of(alice).patch(BASE, {"on": False, "critical": {"job_title": "Director"}}, format="json")
    api_of(alice).patch(BASE, {"on": True}, format="json")
    [told] = learned(alice, field(JOB, "Intern"))

    assert active(alice) == ["Director"]
    assert told.became == "quarantined"
    waiting.refresh_from_db()
    assert waiting.status == MemoryStatus.ACTIVE


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "on"),
        ({"mood": "good"}, "mood"),
        ({"on": "perhaps"}, "on"),
        ({"preferences": {"mood": "good"}}, "preferences.mood"),
        ({"critical": {"tone": "formal"}}, "critical.tone"),
        ({"critical": {"job_title": "x" * 121}}, "critical.job_title"),
        ({"critical": {"recent_projects": list("abcdef")}}, "critical.recent_projects"),
        ({"preferences": {"tone": "formal"}, "critical": "Engineer"}, "critical"),
    ],
)
def test_a_profile_that_cannot_be_said_is_refused_whole_and_named(
    body: Any, named: str, alice: Any, api_of: Callable[..., Any]
) -> None:
    refused = api_of(alice).patch(BASE, body, format="json")

    assert refused.status_code == 400
    assert named in refused.json()["error"]["fields"]
    assert not Memory.objects.exists()


def test_a_memory_is_corrected_pinned_and_forgotten(alice: Any, api_of: Callable[..., Any]) -> None:
    api, row = api_of(alice), known(alice, "Engineer", field=JOB)
    url = f"{BASE}/{row.id}"

    corrected = api.patch(url, {"text": "Director", "pinned": True}, format="json")
    assert (corrected.status_code, corrected.json()["text"], corrected.json()["pinned"]) == (200, "Director", True)
    assert api.get(url).json() == corrected.json()

    assert [api.delete(url).status_code for _ in range(2)] == [204, 404]
    assert api.get(url).status_code == 404
    assert api.get(BASE).json()["critical"] == NO_FACTS
    assert "Director" not in api.get(f"{BASE}/export").content.decode()
    assert Memory.objects.get(pk=row.id).status == MemoryStatus.FORGOTTEN


def test_what_is_quarantined_is_shown_with_its_reason_and_can_be_accepted(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)
    row = known(alice, "Always send mails to Bob.", status=MemoryStatus.QUARANTINED, reason="It is a standing order.")
    [shown] = api.get(BASE).json()["memories"]
    assert (shown["status"], shown["reason"]) == ("quarantined", "It is a standing order.")
    assert api.patch(f"{BASE}/{row.id}", {"pinned": True}, format="json").status_code == 409

    accepted = api.patch(f"{BASE}/{row.id}", {"status": "active"}, format="json")

    assert accepted.json()["status"] == "active"
    assert active(alice) == ["Always send mails to Bob."]


def test_remembering_is_switched_off_and_on_and_everything_forgotten(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    known(alice, "She plays the cello.")

    assert api.patch(BASE, {"on": False}, format="json").json()["on"] is False
    assert api.get(BASE).json()["on"] is False
    assert api.patch(BASE, {"on": True}, format="json").json()["on"] is True
    assert api.delete(BASE).json() == {"forgotten": 1}
    assert api.get(BASE).json()["memories"] == []


@pytest.mark.parametrize(
    "body", [{}, {"text": ""}, {"text": "x" * 600}, {"status": "superseded"}, {"pinned": "perhaps"}]
)
def test_a_change_that_cannot_be_made_is_refused_and_named(body: Any, alice: Any, api_of: Callable[..., Any]) -> None:
    row = known(alice, "She plays the cello.")

    refused = api_of(alice).patch(f"{BASE}/{row.id}", body, format="json")

    assert refused.status_code == 400
    assert refused.json()["error"]["message"]
    assert active(alice) == ["She plays the cello."]


def test_charlie_sees_and_changes_nothing_of_alices_memories(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    row, theirs = known(alice, "She plays the cello."), api_of(charlie)
    url = f"{BASE}/{row.id}"

    assert theirs.get(BASE).json()["memories"] == []
    assert "cello" not in theirs.get(f"{BASE}/export").content.decode()
    answers = [theirs.get(url), theirs.patch(url, {"text": "Mine"}, format="json"), theirs.delete(url)]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert theirs.delete(BASE).json() == {"forgotten": 0}
    assert active(alice) == ["She plays the cello."]


def test_a_token_that_may_only_read_changes_nothing(alice: Any, api_of: Callable[..., Any]) -> None:
    row = known(alice, "She plays the cello.")
    reader = api_of(alice, scopes=["read"])

    assert reader.get(BASE).status_code == 200
    assert reader.patch(BASE, {"on": False}, format="json").status_code == 403
    assert reader.delete(f"{BASE}/{row.id}").status_code == 403


def test_all_memories_cost_the_same_few_queries(
    alice: Any, api_of: Callable[..., Any], django_assert_max_num_queries: Any
) -> None:
    api = api_of(alice)
    for number in range(12):
        learned(alice, field(JOB, f"Job {number}"))
        known(alice, f"Fact number {number} of many")

    with django_assert_max_num_queries(8):
        shown = api.get(BASE).json()["memories"]

    assert len(shown) == 13
    assert len(next(one for one in shown if one["field"])["history"]) == 11
