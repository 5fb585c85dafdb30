"""The inbox as the server draws it: whose requests stand where, in which order, and what a long list costs."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conversations import actions as conversations
from hitl.kinds import ApproverKind, Happening, Risk, Via
from hitl.models import Decision, Request
from tests.page import asked

pytestmark = pytest.mark.django_db


def waits(owner: Any, subject: str, *, minutes: int = 0, **more: Any) -> Request:
    call = asked.mail_call(subject=subject)
    made: dict[str, Any] = {
        "execution_id": uuid4(),
        "conversation_id": uuid4(),
        "agent_id": uuid4(),
        "agent_name": "mail",
        "user": owner,
        "kind": "approval",
        "question": {"question": "Send this mail?", "tool_calls": [call]},
        "tool_names": ["send_email"],
        "risk": Risk.HIGH,
        "arguments_hash": call["arguments_hash"],
        "created_at": timezone.now() - timedelta(minutes=minutes),
        **more,
    }
    return Request(**made)


def page_of(reader: Any, path: str = "/inbox/") -> str:
    client = Client()
    client.force_login(reader)
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def places(page: str, *words: str) -> list[int]:
    return [page.find(word) for word in words]


@pytest.mark.spec("B6")
def test_what_people_were_reminded_of_says_that_it_still_waits(alice: Any) -> None:
    old, young = waits(alice, "Old", minutes=9), waits(alice, "Young", minutes=1)
    Request.objects.bulk_create([old, young])
    Decision.objects.create(request=old, happening=Happening.REMINDED, via=Via.CLOCK)

    page = page_of(alice)

    assert page.count("still waits for you") == 1
    assert page.find("Old") < page.find("still waits for you") < page.find("Young")


def offered(page: str, name: str) -> list[str]:
    """What the filter of this name lets people choose."""
    found = re.search(rf'<select name="{name}">(.*?)</select>', page, re.DOTALL)
    return [value for value in re.findall(r'value="([^"]*)"', found.group(1)) if value] if found else []


@pytest.mark.slow
@pytest.mark.spec("B6")
def test_each_tool_that_waits_can_be_chosen_and_the_filters_do_not_read_what_is_over(alice: Any) -> None:
    names = [f"mcp_house_tool{number:03}" for number in range(500)]
    Request.objects.bulk_create(
        [
            *(waits(alice, name, tool_names=[name], agent_name=f"agent{n % 3}") for n, name in enumerate(names)),
            waits(alice, "Over", tool_names=["gone"], agent_name="former", status="approved"),
        ]
    )

    with CaptureQueriesContext(connection) as asked_for:
        page = page_of(alice)

    assert offered(page, "tool") == names
    assert offered(page, "agent") == ["agent0", "agent1", "agent2"]
    of_requests = [query["sql"] for query in asked_for if 'FROM "hitl_request"' in query["sql"]]
    assert of_requests
    assert all("'pending'" in sql for sql in of_requests)
    assert offered(page_of(alice, "/inbox/?tab=done"), "tool") == ["gone"]
    assert "gone" in offered(page_of(alice, "/inbox/?tool=gone"), "tool"), "what is chosen is told"


@pytest.mark.spec("B3")
def test_the_oldest_stands_first_and_what_was_put_off_last(alice: Any) -> None:
    later = timezone.now() + timedelta(hours=1)
    Request.objects.bulk_create(
        [
            waits(alice, "Put off", minutes=90, snoozed_until=later),
            waits(alice, "Young", minutes=1),
            waits(alice, "Old", minutes=60),
        ]
    )

    page = page_of(alice)

    found = places(page, "Old", "Young", "Put off")
    assert found == sorted(found)
    assert -1 not in found
    assert "put off until" in page


@pytest.mark.slow
@pytest.mark.spec("B3", "B4")
def test_each_request_stands_with_those_whom_it_is_for(alice: Any, bob: Any, charlie: Any) -> None:
    bob.groups.add(Group.objects.get_or_create(name="press")[0])
    for_press: dict[str, Any] = {"approver_kind": ApproverKind.GROUP, "approver_name": "press"}
    Request.objects.bulk_create([waits(alice, "For the press", **for_press), waits(alice, "For herself")])

    assert "For the press" not in page_of(alice)
    others = page_of(alice, "/inbox/?tab=others")
    assert "For the press" in others
    assert "waits for the group press" in others
    assert "For herself" not in others
    assert "For the press" in page_of(bob)
    assert "For herself" not in page_of(bob)
    for tab in ("decide", "others", "done"):
        assert "inbox-row" not in page_of(charlie, f"/inbox/?tab={tab}").replace("inbox-rows", "")


def test_what_models_wrote_is_text(alice: Any) -> None:
    made = waits(alice, "<script>alert(1)</script>", task_description="<img src=x onerror=alert(2)>")
    made.save()

    for page in (page_of(alice), page_of(alice, f"/inbox/{made.pk}/")):
        assert "<script>alert" not in page
        assert "<img src=x" not in page


@pytest.mark.slow
def test_a_long_list_costs_as_many_queries_as_a_short_one(alice: Any, django_assert_num_queries: Any) -> None:
    client = Client()
    client.force_login(alice)
    Request.objects.bulk_create(waits(alice, f"Number {at}", minutes=at) for at in range(30))
    queries = 11  # two of them for the frame: how many wait, and what it leads to
    with django_assert_num_queries(queries):
        client.get("/inbox/")

    one = waits(alice, "More")
    shared = {field.attname: getattr(one, field.attname) for field in Request._meta.concrete_fields[1:]}
    Request.objects.bulk_create((Request(**shared) for _ in range(1_970)), batch_size=1_000)
    with django_assert_num_queries(queries):
        answer = client.get("/inbox/?page=40")

    assert answer.content.decode().count("data-row=") == 25


@pytest.mark.spec("B3")
def test_the_history_has_words_for_whatever_can_happen_to_a_request(alice: Any) -> None:
    asked = waits(alice, "Hello")
    asked.save()
    Decision.objects.bulk_create([Decision(request=asked, happening=one, via=Via.CLOCK) for one in Happening])

    page = page_of(alice, f"/inbox/{asked.pk}/")

    history = page[page.index('class="history"') :]
    said = re.findall(r"<strong>([^<]+)</strong>", history[: history.index("</section>")])
    assert len(set(said)) == len(Happening) + 1  # and that it was asked
    assert [words for words in said if words == words.lower()] == []


@pytest.mark.spec("B3")
def test_the_run_is_led_to_only_where_its_conversation_is_still_there(alice: Any) -> None:
    there, gone = conversations.create(alice), conversations.create(alice)
    kept = waits(alice, "Kept", conversation_id=there.pk)
    left = waits(alice, "Left", conversation_id=gone.pk)
    Request.objects.bulk_create([kept, left])
    conversations.delete(alice, gone.pk)

    listed = page_of(alice)
    pages = [page_of(alice, f"/inbox/{one.pk}/") for one in (kept, left)]

    assert re.findall(r'data-row="([^"]+)"[^>]* data-talk>', listed) == [str(kept.pk)]
    assert ["Open the run at this point" in page for page in pages] == [True, False]
