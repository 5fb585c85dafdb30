"""What API and admin tell of a request in a run that has read what others wrote, and that no rule is made of it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from hitl.models import Rule
from tests.hitl.asking import ROLE, ask, mail_question

READ = [
    {"kind": "web", "title": "<script>alert(1)</script>", "url": "https://evil.example/", "tool": "fetch_url"},
    {"kind": "mail", "title": "From Eve", "tool": "read_message"},
]
ADDRESS = {
    "url": "https://evil.example/?d=secret",
    "host": "evil.example",
    "parts": [{"text": "https://evil.example/?d=", "carried": False}, {"text": "secret", "carried": True}],
}


def tainted(**more: Any) -> dict[str, Any]:
    return mail_question(tainted_by=READ, tainted_more=3, address=ADDRESS, why="It has read.", **more)


@pytest.mark.spec("S207", "S116")
@pytest.mark.threat("T16")
def test_programs_are_told_what_was_read(alice: Any, api_of: Callable[..., Any]) -> None:
    request = ask(alice, question=tainted())
    plain = ask(alice)

    told = api_of(alice).get(f"/api/v1/hitl/requests/{request.pk}").json()
    other = api_of(alice).get(f"/api/v1/hitl/requests/{plain.pk}").json()

    assert (told["tainted_by"], told["tainted_more"], told["address"]) == (READ, 3, ADDRESS)
    assert told["rules_allowed"] is False
    assert "tainted_by" not in told["details"]
    assert (other["tainted_by"], other["tainted_more"], other["address"]) == ([], 0, None)


@pytest.mark.spec("S207", "B7")
@pytest.mark.threat("T16", "T18")
@pytest.mark.parametrize("decision", ["approved", "denied"])
def test_no_rule_is_made_with_an_answer_to_it_and_the_answer_is_taken_back(
    alice: Any, api_of: Callable[..., Any], decision: str
) -> None:
    request = ask(alice, question=tainted(rules_allowed=True))

    answer = api_of(alice).post(
        "/api/v1/hitl/respond",
        {
            "request_id": str(request.pk),
            "decision": decision,
            "arguments_hash": request.arguments_hash,
            "remember": {"scope": "rule", "conditions": []},
        },
        format="json",
    )

    assert answer.status_code == 400
    assert "text that others wrote" in answer.json()["error"]["message"]
    request.refresh_from_db()
    assert (request.status, Rule.objects.count()) == ("pending", 0)


@pytest.mark.spec("S119", "S207")
@pytest.mark.threat("T11", "T16", "T20")
def test_a_reviewer_reads_it_on_the_form_and_nothing_of_it_is_markup(
    alice: Any, charlie: Any, client_of: Callable[[Any], Client]
) -> None:
    charlie.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    request = ask(alice, question=tainted(), approvers=ROLE)

    page = client_of(charlie).get(f"/admin/hitl/request/{request.pk}/change/").content.decode()

    assert "This run has read text that others wrote" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; (<code>https://evil.example/</code>)" in page
    assert "From Eve" in page
    assert "and 3 more" in page
    assert "<mark>secret</mark>" in page
    assert "<script>alert(1)" not in page
