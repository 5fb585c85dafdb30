"""The inbox over the API and the socket: what is listed, found, decided by many hands, and seen by nobody else."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conversations import actions as conversations
from hitl import actions
from hitl.answers import Response
from hitl.conditions import Remember
from hitl.kinds import RuleScope, Via
from hitl.models import Request, RequestStatus, Rule
from hyperagent.lib.refusals import Conflict
from tests.faces.conftest import in_threads
from tests.faces.sockets import Socket, address, browser, cookie_of
from tests.hitl.asking import MAIL, ROLE, ask, mail_question

__all__ = ["in_threads"]
REQUESTS, RESPOND, BULK = "/api/v1/hitl/requests", "/api/v1/hitl/respond", "/api/v1/hitl/respond/bulk"
Api = Callable[..., Any]


@pytest.fixture
def reviewer(bob: Any) -> Any:
    bob.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    return bob


@pytest.mark.spec("S116", "B3", "B5")
def test_a_request_tells_everything_that_its_reader_needs_to_decide(alice: Any, api_of: Api) -> None:
    asked = ask(
        alice,
        question=mail_question(risk="high", why="It cannot be undone.", rules_allowed=True),
        expires_at=timezone.now() + timedelta(hours=1),
    )

    told = api_of(alice).get(f"{REQUESTS}/{asked.pk}").json()

    assert (told["risk"], told["stage"], told["why"]) == ("high", "tool", "It cannot be undone.")
    assert (told["arguments_hash"], told["tool_calls"][0]["arguments"]) == (asked.arguments_hash, MAIL)
    assert told["approvers"] == {"kind": "self", "name": "", "different_person": False}
    assert (told["may_decide"], told["rules_allowed"], told["decisions"]) == (True, True, [])
    assert (told["decided_by_name"], told["decided_via"], told["edited_arguments"]) == ("", "", None)


@pytest.mark.spec("B3", "B5")
def test_the_history_of_a_request_says_who_did_what_and_when(alice: Any, reviewer: Any, api_of: Api) -> None:
    asked = ask(alice, approvers=ROLE)
    api = api_of(reviewer)
    said = {"request_id": str(asked.pk)}

    api.post(RESPOND, {**said, "decision": "snoozed", "instructions": "After lunch"}, format="json")
    done = api.post(
        RESPOND, {**said, "decision": "approved", "edited_arguments": {**MAIL, "body": "Hey\x00"}}, format="json"
    )

    assert done.status_code == 200, done.json()
    told = api_of(alice).get(f"{REQUESTS}/{asked.pk}").json()
    assert [(row["happening"], row["actor_name"], row["via"], row["note"]) for row in told["decisions"]] == [
        ("snoozed", "bob@example.org", "api", "After lunch"),
        ("approved", "bob@example.org", "api", ""),
    ]
    assert told["decisions"][1]["details"]["changes"] == [{"path": "body", "before": "Hi", "after": "Hey�"}]
    assert (told["decided_by_name"], told["decided_via"], told["may_decide"]) == ("Bob", "api", False)
    assert told["edited_arguments"]["body"] == "Hey�"


def test_faults_of_edited_arguments_are_told_place_by_place(alice: Any, api_of: Api) -> None:
    asked = ask(alice)
    said = {"request_id": str(asked.pk), "decision": "approved"}

    wrong = api_of(alice).post(
        RESPOND, {**said, "edited_arguments": {**MAIL, "to": ["a@b.org", 7], "bcc": []}}, format="json"
    )
    no_object = api_of(alice).post(RESPOND, {**said, "edited_arguments": [1]}, format="json")
    not_json = api_of(alice).post(
        RESPOND, f'{{"request_id": "{asked.pk}", "edited_arguments": NaN}}', content_type="application/json"
    )

    assert wrong.status_code == no_object.status_code == not_json.status_code == 400
    assert wrong.json()["error"]["fields"] == {
        "edited_arguments.bcc": ["The tool has no such argument."],
        "edited_arguments.to.1": ["This has to be a text."],
    }
    assert "edited_arguments" in no_object.json()["error"]["fields"]
    assert Request.objects.get().status == "pending"


def test_who_was_shown_other_arguments_is_told_what_they_are_now(alice: Any, api_of: Api) -> None:
    asked = ask(alice)

    refused = api_of(alice).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "approved", "arguments_hash": "0" * 64}, format="json"
    )

    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (409, "arguments_changed")
    assert error["request"]["arguments_hash"] == asked.arguments_hash


@pytest.mark.spec("S113", "B7")
def test_a_rule_is_made_with_the_decision_and_leaves_other_requests_to_people(alice: Any, api_of: Api) -> None:
    first, second = (ask(alice, question=mail_question(rules_allowed=True)) for _ in range(2))
    remember = {"scope": "rule", "conditions": [{"path": "to", "op": "domain", "value": "corp.com"}], "uses": 3}

    done = api_of(alice).post(
        RESPOND, {"request_id": str(first.pk), "decision": "approved", "remember": remember}, format="json"
    )

    assert done.status_code == 200, done.json()
    rule = Rule.objects.get()
    assert (rule.user, rule.effect, rule.made_from) == (alice, "allow", first.pk)
    assert first.decisions.get().details["rule_id"] == str(rule.pk)
    second.refresh_from_db()
    assert second.status == "pending"


@pytest.mark.slow
@pytest.mark.spec("B7", "S120")
def test_a_rule_that_comes_after_its_decision_is_a_conflict_unless_it_is_the_one_that_was_made(
    alice: Any, api_of: Api
) -> None:
    api = api_of(alice)
    bare, with_rule = (ask(alice, question=mail_question(rules_allowed=True)) for _ in range(2))
    remember = {"scope": "rule", "conditions": [{"path": "to", "op": "domain", "value": "corp.com"}], "uses": 3}

    def say(asked: Request, **more: Any) -> tuple[int, str]:
        answer = api.post(RESPOND, {"request_id": str(asked.pk), "decision": "approved", **more}, format="json")
        return answer.status_code, answer.json().get("error", {}).get("code", "")

    assert say(bare) == say(bare) == (200, "")
    assert say(bare, remember=remember) == (409, "already_decided")
    assert Rule.objects.count() == 0

    assert say(with_rule, remember=remember) == say(with_rule, remember=remember) == say(with_rule) == (200, "")
    assert say(with_rule, remember={**remember, "uses": 4}) == (409, "already_decided")
    assert say(with_rule, remember={"scope": "run"}) == (409, "already_decided")
    assert Rule.objects.count() == 1


@pytest.mark.spec("B7")
def test_a_message_that_is_sent_again_is_known_by_its_key(alice: Any) -> None:
    asked = ask(alice, question=mail_question(rules_allowed=True))
    first, later = (Remember(RuleScope.RULE, until=timezone.now() + timedelta(hours=hours)) for hours in (1, 2))

    def say(remember: Remember, key: str) -> str:
        response = Response(RequestStatus.APPROVED, remember=remember, key=key)
        return actions.respond(alice, asked.pk, response, via=Via.API).status

    assert say(first, "m-1") == say(later, "m-1") == say(first, "m-2") == "approved"
    with pytest.raises(Conflict):
        say(later, "m-2")
    assert Rule.objects.count() == 1


@pytest.mark.spec("B7")
@pytest.mark.parametrize("remember", [{"scope": "once"}, {"scope": "once", "conditions": [], "until": None}])
def test_what_is_allowed_once_makes_no_rule(alice: Any, api_of: Api, remember: Any) -> None:
    asked = ask(alice, question=mail_question(rules_allowed=True))

    told = api_of(alice).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "approved", "remember": remember}, format="json"
    )

    assert (told.status_code, told.json()["status"], Rule.objects.count()) == (200, "approved", 0), told.json()
    assert told.json()["responded_at"] == told.json()["ended_at"]


@pytest.mark.spec("B7")
def test_what_is_allowed_once_has_no_conditions(alice: Any, api_of: Api) -> None:
    asked = ask(alice, question=mail_question(rules_allowed=True))
    remember = {"scope": "once", "uses": 3, "until": None}

    refused = api_of(alice).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "approved", "remember": remember}, format="json"
    )

    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"remember.uses"})


@pytest.mark.spec("B7")
@pytest.mark.parametrize("remember", [{"scope": "everything"}, {"scope": "rule", "conditions": [{"path": "nope"}]}, 7])
def test_a_rule_that_cannot_be_made_takes_its_decision_with_it(alice: Any, api_of: Api, remember: Any) -> None:
    asked = ask(alice, question=mail_question(rules_allowed=True))

    refused = api_of(alice).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "approved", "remember": remember}, format="json"
    )

    assert refused.status_code == 400
    assert all(name.startswith("remember") for name in refused.json()["error"]["fields"])
    asked.refresh_from_db()
    assert (asked.status, asked.decisions.count(), Rule.objects.count()) == ("pending", 0, 0)


@pytest.mark.spec("B4", "B7")
def test_an_approver_makes_no_rule_about_the_runs_of_somebody_else(alice: Any, reviewer: Any, api_of: Api) -> None:
    asked = ask(alice, approvers=ROLE, question=mail_question(rules_allowed=True))

    refused = api_of(reviewer).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "approved", "remember": {"scope": "rule"}}, format="json"
    )

    assert refused.status_code == 400
    asked.refresh_from_db()
    assert (asked.status, Rule.objects.count()) == ("pending", 0)


@pytest.mark.spec("B4")
def test_who_may_see_but_not_decide_is_told_so(alice: Any, api_of: Api) -> None:
    asked = ask(alice, approvers={**ROLE, "different_person": True})

    seen = api_of(alice).get(f"{REQUESTS}/{asked.pk}").json()
    refused = api_of(alice).post(RESPOND, {"request_id": str(asked.pk), "decision": "approved"}, format="json")

    assert seen["may_decide"] is False
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_yours_to_decide")


@pytest.mark.spec("B3")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abcd"),
        ("mine=decide", "abc"),
        ("mine=own", "bcd"),
        ("mine=all&status=pending", "abcd"),
        ("kind=input", "c"),
        ("risk=high", "b"),
        ("agent=mail", "abcd"),
        ("agent=chat", ""),
        ("tool=send_email", "abd"),
        ("q=quarterly", "b"),
        ("q=which", "c"),
        ("q=BOB@CORP", "abd"),
        ("q=100%25", ""),
    ],
)
def test_the_list_is_narrowed_by_what_people_look_for(
    alice: Any, charlie: Any, api_of: Api, query: str, found: str
) -> None:
    letters = {
        ask(charlie, approvers={**ROLE, "kind": "named", "user_ids": [str(alice.pk)]}).pk: "a",
        ask(alice, question=mail_question(risk="high", task_description="The quarterly report")).pk: "b",
        ask(alice, "input", question={"question": "Which one?"}).pk: "c",
        ask(alice, approvers={**ROLE, "name": "administrator"}).pk: "d",
    }
    ask(charlie)

    listed = api_of(alice).get(f"{REQUESTS}?{query}").json()["results"]

    assert "".join(sorted(letters[uuid.UUID(one["request_id"])] for one in listed)) == found
    assert {one["may_decide"] for one in listed if letters[uuid.UUID(one["request_id"])] == "d"} <= {False}


@pytest.mark.parametrize("query", ["mine=bob", "risk=huge", "kind=what", "execution=1", "q=%00", "tool=%00"])
def test_a_filter_that_cannot_be_meant_is_refused(alice: Any, api_of: Api, query: str) -> None:
    assert api_of(alice).get(f"{REQUESTS}?{query}").status_code == 400


def test_list_and_detail_cost_the_same_number_of_queries_whoever_decides(
    alice: Any, bob: Any, reviewer: Any, api_of: Api
) -> None:
    api = api_of(reviewer)
    first = ask(alice, approvers=ROLE)

    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get(path).status_code == 200
        # Once a minute it is also written down that the token was used.
        return sum(not str(query["sql"]).startswith("UPDATE") for query in caught)

    queries(REQUESTS)
    before = queries(REQUESTS), queries(f"{REQUESTS}/{first.pk}")
    for number in range(6):
        ask(alice, approvers=ROLE, status=("pending", "approved")[number % 2], decided_by=bob)
    api.post(RESPOND, {"request_id": str(first.pk), "decision": "snoozed"}, format="json")

    assert (queries(REQUESTS), queries(f"{REQUESTS}/{first.pk}")) == before == (3, 4)


@pytest.mark.spec("B3")
def test_many_at_once_over_the_api(alice: Any, bob: Any, api_of: Api) -> None:
    mine, others = ask(alice), ask(bob)
    wanted = [str(mine.pk), str(others.pk)]

    done = api_of(alice).post(BULK, {"request_ids": wanted, "decision": "denied", "instructions": "No"}, format="json")

    first, second = done.json()["results"]
    assert (first["ok"], first["request"]["status"], first["request"]["user_instructions"]) == (True, "denied", "No")
    assert (second["ok"], second["error"]["code"]) == (False, "not_found")
    wrong: list[dict[str, Any]] = [{"request_ids": ids} for ids in ([], ["x"], wanted * 60)]
    for bad in [*wrong, {"decision": "answered"}]:
        refused = api_of(alice).post(BULK, {"request_ids": wanted, "decision": "denied", **bad}, format="json")
        assert refused.status_code == 400


def test_each_route_needs_its_scope(alice: Any, api_of: Api) -> None:
    asked = ask(alice)
    bulk = {"request_ids": [str(asked.pk)], "decision": "denied"}

    assert api_of(alice, scopes=["run"]).get(f"{REQUESTS}/{asked.pk}").status_code == 403
    assert api_of(alice, scopes=["read", "run"]).post(BULK, bulk, format="json").status_code == 403
    assert api_of(alice, scopes=["approve"]).post(BULK, bulk, format="json").status_code == 200


def test_who_may_decide_and_nothing_else_learns_of_what(alice: Any, api_of: Api) -> None:
    asked, reviewer = ask(alice), api_of(alice, scopes=["approve"])

    [listed] = reviewer.get(REQUESTS, {"status": "pending"}).json()["results"]
    shown = reviewer.get(f"{REQUESTS}/{asked.pk}").json()

    assert listed["request_id"] == shown["request_id"] == str(asked.pk)
    assert reviewer.get(f"/api/v1/executions/{asked.execution_id}").status_code == 403


def test_a_decision_at_our_own_pages_says_so(alice: Any, client_of: Callable[[Any], Client]) -> None:
    asked = ask(alice)

    done = client_of(alice).post(
        RESPOND, {"request_id": str(asked.pk), "decision": "denied"}, content_type="application/json"
    )

    assert (done.status_code, done.json()["decided_via"]) == (200, "page")


@pytest.mark.spec("B4", "S119")
@pytest.mark.parametrize("decision", ["approved", "denied", "answered", "snoozed"])
def test_charlie_meets_nothing_of_alices_by_any_door(alice: Any, charlie: Any, api_of: Api, decision: str) -> None:
    asked, api = ask(alice, approvers=ROLE), api_of(charlie)

    def answers(request_id: Any) -> list[Any]:
        said = {"request_id": str(request_id), "decision": decision}
        return [
            api.get(f"{REQUESTS}/{request_id}"),
            api.post(RESPOND, said, format="json"),
            api.post(RESPOND, {**said, "arguments_hash": "0" * 64}, format="json"),
            api.post(RESPOND, {**said, "edited_arguments": {}, "snooze_until": "2020-01-01T00:00Z"}, format="json"),
        ]

    for foreign, missing in zip(answers(asked.pk), answers(uuid.uuid4()), strict=True):
        assert foreign.status_code == missing.status_code == 404
        assert foreign.content == missing.content
    bulk = api.post(BULK, {"request_ids": [str(asked.pk)], "decision": "denied"}, format="json").json()
    assert bulk["results"][0]["error"]["code"] == "not_found"
    for query in ("", "?mine=decide", "?mine=own", f"?execution={asked.execution_id}", "?q=mail"):
        assert api.get(REQUESTS + query).json()["results"] == []
    asked.refresh_from_db()
    assert (asked.status, asked.snoozed_until, asked.decisions.count()) == ("pending", None, 0)


@pytest.mark.spec("S115", "S119")
async def test_a_member_of_the_conversation_answers_on_its_socket_with_all_that_the_api_takes(
    in_threads: None, alice: Any, charlie: Any
) -> None:
    conversation = await sync_to_async(conversations.create)(alice)
    other = await sync_to_async(conversations.create)(alice)
    asked = await sync_to_async(ask)(alice, conversation_id=conversation.id)
    elsewhere = await sync_to_async(ask)(alice, conversation_id=other.id)
    foreign = await sync_to_async(ask)(charlie, approvers=ROLE)
    cookie = cookie_of(await browser(alice))
    said = {"type": "respond", "request_id": str(asked.pk)}

    async with Socket(address(conversation.id), cookie=cookie) as socket:
        await socket.send(**said, decision="approved", edited_arguments={**MAIL, "to": []})
        refused = (await socket.frame("error"))["error"]
        await socket.send(**said, decision="snoozed", snooze_until="2999-01-01T00:00:00")
        naive = (await socket.frame("error"))["error"]
        for request in (elsewhere, foreign):
            await socket.send(type="respond", request_id=str(request.pk), decision="approved")
            assert (await socket.frame("error"))["error"]["code"] == "not_found"
        await socket.send(**said, decision="snoozed")
        snoozed = (await socket.frame("responded"))["request"]
        await socket.send(
            **said, decision="approved", edited_arguments={**MAIL, "body": "Hey"}, arguments_hash=asked.arguments_hash
        )
        done = (await socket.frame("responded"))["request"]

    assert set(refused["fields"]) == {"edited_arguments.to"}
    assert refused["message"].startswith("edited_arguments.to: ")
    assert set(naive["fields"]) == {"snooze_until"}
    assert (snoozed["status"], snoozed["may_decide"]) == ("pending", True)
    assert (done["status"], done["decided_via"], done["edited_arguments"]["body"]) == ("approved", "socket", "Hey")
