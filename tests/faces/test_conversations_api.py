"""Conversations and messages over the API."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.engine.events import Complete
from agents.models import Execution
from agents.usage import purses
from conversations import actions
from conversations.models import Conversation, Message
from conversations.sharing import actions as sharing
from hyperagent.lib.refusals import Refused
from tests.faces.runs import append, make_run, tokens
from tests.memory.giving import uploaded

BASE = "/api/v1/conversations"


def test_alice_begins_a_conversation_asks_and_sees_both_messages(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    created = api.post(BASE, {}).json()

    said = api.post(f"{BASE}/{created['id']}/messages", {"text": "What is a Kahn sort?", "client_id": "c1"})

    assert said.status_code == 201
    message, reply = said.json()["message"], said.json()["reply"]
    assert (message["role"], message["text"], message["client_id"]) == ("user", "What is a Kahn sort?", "c1")
    assert (reply["role"], reply["parent_id"], reply["execution"]["status"]) == ("assistant", message["id"], "pending")
    shown = api.get(f"{BASE}/{created['id']}/messages").json()["results"]
    assert shown == [message, reply]
    listed = api.get(BASE).json()["results"]
    assert [(one["id"], one["title"], one["running"]) for one in listed] == [
        (created["id"], "What is a Kahn sort?", True)
    ]


def test_a_question_with_a_client_id_that_was_seen_is_not_said_twice(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    url = f"{BASE}/{actions.create(alice).id}/messages"

    first = api.post(url, {"text": "Hi", "client_id": "same"})
    second = api.post(url, {"text": "Hi", "client_id": "same"})

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert Execution.objects.count() == 1


def test_a_question_with_an_idempotency_key_that_was_seen_is_not_said_twice(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)
    here, elsewhere = (f"{BASE}/{actions.create(alice).id}/messages" for _ in range(2))

    def said(url: str, key: str = "same", **more: Any) -> Any:
        return api.post(url, {"text": "Hi", **more}, headers={"idempotency-key": key})

    first, again = said(here), said(here)
    differing = [said(here, text="Bye"), said(here, mode="research"), said(elsewhere)]
    too_long, named = said(here, key="k" * 101), said(here, key="other", client_id="same")

    assert (first.status_code, again.status_code, named.status_code) == (201, 200, 200)
    assert first.json() == again.json() == named.json()
    assert [(one.status_code, one.json()["error"]["code"]) for one in differing] == [(409, "key_used")] * 3
    assert (too_long.status_code, set(too_long.json()["error"]["fields"])) == (400, {"Idempotency-Key"})
    assert Execution.objects.count() == 1


@pytest.mark.spec("S52")
def test_attached_documents_go_with_the_question_and_with_each_answer_to_it(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    table = uploaded(alice, "month,sales\nJan,1\n", filename="sales.csv")
    api, conversation = api_of(alice), actions.create(alice)
    url, ids = f"{BASE}/{conversation.id}/messages", [str(table.pk)]

    said = api.post(url, {"text": "Plot it", "attachment_ids": ids}, format="json").json()

    assert said["message"]["attachments"] == [{"id": ids[0], "name": "sales.csv"}]
    first = Execution.objects.get(pk=said["reply"]["execution"]["id"])
    assert first.input["options"]["attachment_ids"] == ids
    append(first, Complete(answer="Done."))
    again = actions.retry_reply(alice, uuid.UUID(said["message"]["id"]))
    assert again.execution.input["options"]["attachment_ids"] == ids
    assert api.get(url).json()["results"][0]["attachments"] == said["message"]["attachments"]
    theirs = f"{BASE}/{actions.create(charlie).id}/messages"
    refused = api_of(charlie).post(theirs, {"text": "Plot it", "attachment_ids": ids}, format="json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "no_such_document")
    assert "sales.csv" not in refused.content.decode()


@pytest.mark.spec("S52")
def test_later_questions_know_what_was_attached_to_those_before_and_a_copy_of_the_conversation_does_not(
    alice: Any, bob: Any
) -> None:
    sales, plan = (str(uploaded(alice, text, filename=f"{text}.md").pk) for text in ("sales", "plan"))
    conversation = actions.create(alice)

    def say(text: str, *attached: str) -> Execution:
        run = actions.say(
            alice, conversation.id, actions.Question(text, options={"attachment_ids": attached})
        ).execution
        append(run, Complete(answer="Done."))
        return run

    runs = [say("Look at it", sales), say("And this?", plan), say("Again", sales), say("And now?")]

    assert [run.input.get("attached_before") for run in runs] == [None, [sales], [sales, plan], [plan, sales]]
    link = sharing.share(alice, conversation.id, sharing.Choice(with_attachments=True))
    copied = actions.say(bob, sharing.go_on(bob, link).id, actions.Question("And then?"))
    assert len(copied.execution.input["history"]) == 8
    assert "attached_before" not in copied.execution.input


def test_a_run_knows_in_which_zone_its_person_is(alice: Any, bob: Any) -> None:
    alice.time_zone = "Pacific/Auckland"

    runs = [actions.say_in_new(user, actions.Question("Which day is it?")).execution for user in (alice, bob)]

    assert [run.input.get("time_zone") for run in runs] == ["Pacific/Auckland", None]


def test_the_second_question_hangs_on_the_first_answer_and_its_run_is_told_of_both(alice: Any) -> None:
    conversation = actions.create(alice)
    first = actions.say(alice, conversation.id, actions.Question("I am Alice."))
    append(first.execution, *tokens("Hello"), Complete(answer="Hello Alice."))

    second = actions.say(alice, conversation.id, actions.Question("Who am I?"))

    assert second.message.parent_id == first.reply.id
    assert second.execution.input["history"] == [
        {"role": "user", "content": "I am Alice."},
        {"role": "assistant", "content": "Hello Alice."},
    ]


def test_another_answer_stands_beside_the_old_one_and_the_new_branch_goes_on_from_it(alice: Any) -> None:
    conversation = actions.create(alice)
    first = actions.say(alice, conversation.id, actions.Question("Pick a number"))
    append(first.execution, Complete(answer="1"))

    again = actions.retry_reply(alice, first.reply.id)
    append(again.execution, Complete(answer="2"))
    after = actions.say(alice, conversation.id, actions.Question("Which?"))

    assert again.reply.parent_id == first.message.id
    assert again.execution.question == "Pick a number"
    assert again.execution.input["history"] == []
    assert [said["content"] for said in after.execution.input["history"]] == ["Pick a number", "2"]


def test_a_question_that_is_being_answered_is_not_answered_twice(alice: Any, api_of: Callable[..., Any]) -> None:
    said = actions.say(alice, actions.create(alice).id, actions.Question("Hi"))

    refused = api_of(alice).post(f"/api/v1/messages/{said.reply.id}/retry")

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "still_running")


def test_a_renamed_conversation_keeps_the_name_that_a_person_gave(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    conversation = actions.create(alice)

    renamed = api.patch(f"{BASE}/{conversation.id}", {"title": "  My \n sort  "})
    actions.say(alice, conversation.id, actions.Question("What is a Kahn sort?"))

    assert renamed.json()["title"] == "My sort"
    assert Conversation.objects.get().title == "My sort"


def test_a_deleted_conversation_is_gone_and_its_runs_are_kept_and_stopped(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)
    said = actions.say(alice, actions.create(alice).id, actions.Question("Hi"))
    url = f"{BASE}/{said.conversation.id}"

    assert api.delete(url).status_code == 204

    assert [api.get(url).status_code, api.delete(url).status_code, api.get(f"{url}/messages").status_code] == [404] * 3
    assert api.get(BASE).json()["results"] == []
    assert Execution.objects.get().cancel_requested_at is not None


@pytest.mark.slow
def test_the_lists_cost_the_same_number_of_queries_however_long_they_are(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)

    def queries(url: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            assert api.get(url).status_code == 200
        return len(caught)

    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("One"))
    urls = [BASE, f"{BASE}/{conversation.id}/messages", "/api/v1/executions", f"/api/v1/executions/{said.execution.id}"]
    [queries(url) for url in urls]
    few = [queries(url) for url in urls]
    for number in range(20):
        actions.say(alice, actions.create(alice).id, actions.Question(f"Question {number}"))
        actions.say(alice, conversation.id, actions.Question(f"Question {number}"))

    assert [queries(url) for url in urls] == few
    assert few == [2, 3, 2, 4]


def test_a_question_costs_few_queries(alice: Any, django_assert_max_num_queries: Any) -> None:
    conversation = actions.create(alice)
    purses.look_anew()
    actions.say(alice, conversation.id, actions.Question("First"))

    with django_assert_max_num_queries(11):
        actions.say(alice, conversation.id, actions.Question("Second", client_id="c2"))


def test_the_page_of_conversations_goes_on_where_it_ended(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    made = [str(actions.create(alice, title=f"Nr {number}").id) for number in range(7)]

    first = api.get(f"{BASE}?page_size=4").json()
    second = api.get(first["next"]).json()

    assert [one["id"] for one in first["results"] + second["results"]] == made[::-1]
    assert second["next"] is None


@pytest.mark.parametrize("cursor", ["bogus", "cD14", "bz0tMQ==", "é", "cD0lMDA="])
def test_a_cursor_that_is_none_is_refused_by_its_name(alice: Any, api_of: Callable[..., Any], cursor: str) -> None:
    refused = api_of(alice).get(BASE, {"cursor": cursor})

    error = refused.json()["error"]
    assert (refused.status_code, error["code"], set(error["fields"])) == (400, "invalid", {"cursor"})
    assert "`next`" in error["message"]


def test_conversations_that_programs_began_are_listed_to_programs_and_to_people_when_asked_for(
    alice: Any, api_of: Callable[..., Any], client_of: Callable[[Any], Client]
) -> None:
    api, page = api_of(alice), client_of(alice)
    actions.create(alice, title="Mine")
    actions.say_in_new(alice, actions.Question("A program's question"))

    assert [one["title"] for one in api.get(BASE).json()["results"]] == ["A program's question", "Mine"]
    assert [one["title"] for one in page.get(BASE).json()["results"]] == ["Mine"]
    assert len(page.get(f"{BASE}?origin=all").json()["results"]) == 2
    assert [one["title"] for one in api.get(f"{BASE}?origin=api").json()["results"]] == ["A program's question"]
    assert len(api.get(f"{BASE}?origin=all").json()["results"]) == 2


@pytest.mark.spec("B29")
def test_the_export_has_the_questions_and_the_answers(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    said = actions.say(alice, actions.create(alice).id, actions.Question("Say <b>hello</b>"))
    append(said.execution, Complete(answer="**Hello**"))
    url = f"{BASE}/{said.conversation.id}/export"

    markdown, as_json = api.get(url), api.get(f"{url}?as=json")

    assert markdown.headers["content-type"].startswith("text/markdown")
    assert "attachment" in markdown.headers["content-disposition"]
    text = markdown.content.decode()
    assert "Say <b>hello</b>" in text
    assert "**Hello**" in text
    assert [message["text"] for message in json.loads(as_json.content)["results"]] == ["Say <b>hello</b>", "**Hello**"]


def test_a_token_that_may_only_read_asks_nothing(alice: Any, api_of: Callable[..., Any]) -> None:
    reader = api_of(alice, scopes=["read"])
    conversation = actions.create(alice)

    asked = reader.post(f"{BASE}/{conversation.id}/messages", {"text": "Hi"})

    assert (asked.status_code, asked.json()["error"]["code"]) == (403, "scope_missing")
    assert reader.get(f"{BASE}/{conversation.id}").status_code == 200
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"text": ""}, "question_empty", "text"),
        ({"text": " \u200b\u2060\ufeff\n"}, "question_empty", "text"),
        ({"text": "\x00\x00"}, "question_empty", "text"),
        ({"text": "x" * 1_000_000}, "question_too_long", "text"),
        ({"text": "Hi", "mode": "juggling"}, "unknown_mode", "mode"),
        ({"text": "Hi", "client_id": "x" * 101}, "bad_client_id", "client_id"),
        ({}, "invalid", "text"),
        ({"text": ["Hi"]}, "invalid", "text"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_words_and_leaves_nothing(
    alice: Any, api_of: Callable[..., Any], body: dict[str, Any], code: str, field: str
) -> None:
    conversation = actions.create(alice)

    refused = api_of(alice).post(f"{BASE}/{conversation.id}/messages", body)

    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, code)
    assert error["fields"][field]
    assert error["message"]
    assert not Message.objects.exists()
    assert not Execution.objects.exists()


@pytest.mark.parametrize("body", [b"{", b'{"text": "\xff\xfe"}', b'"text"', b"[]", b"null", b'{"text": NaN}', b""])
def test_a_body_that_is_no_question_is_refused(alice: Any, api_of: Callable[..., Any], body: bytes) -> None:
    url = f"{BASE}/{actions.create(alice).id}/messages"

    refused = api_of(alice).post(url, body, content_type="application/json")

    assert refused.status_code == 400
    assert refused.json()["error"]["message"]


def test_a_body_of_eleven_megabytes_is_refused(alice: Any, api_of: Callable[..., Any]) -> None:
    url = f"{BASE}/{actions.create(alice).id}/messages"

    refused = api_of(alice).post(url, b'{"text": "' + b"x" * 11_000_000 + b'"}', content_type="application/json")

    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")


def test_the_modes_of_old_are_understood(alice: Any) -> None:
    conversation = actions.create(alice)

    for older, mode in (("CHAT", "chat"), ("WRITING", "writing")):
        assert actions.say(alice, conversation.id, actions.Question("Hi", mode=older)).execution.mode == mode
    with pytest.raises(Refused, match="chat"):
        actions.say(alice, conversation.id, actions.Question("Hi", mode="JUGGLING"))


def test_a_missing_conversation_looks_like_another_persons(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(charlie)
    foreign = api.get(f"{BASE}/{actions.create(alice).id}")

    missing = api.get(f"{BASE}/{uuid.uuid4()}")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content


def test_runs_are_listed_by_status_and_conversation(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    said = actions.say(alice, actions.create(alice).id, actions.Question("Hi"))
    done = make_run(alice)
    append(done, Complete(answer="Done"))

    def listed(query: str) -> list[str]:
        return [one["id"] for one in api.get(f"/api/v1/executions?{query}").json()["results"]]

    assert listed("status=completed") == [str(done.id)]
    assert listed(f"conversation={said.conversation.id}") == [str(said.execution.id)]
    assert api.get("/api/v1/executions?status=unknown").status_code == 400


@pytest.mark.spec("S75", "S76")
@pytest.mark.parametrize(
    ("older", "status"),
    [("success", "completed"), ("error", "failed"), ("interrupted", "awaiting_user"), ("idle", "completed")],
)
def test_runs_are_listed_by_the_older_names_of_statuses_too(
    alice: Any, api_of: Callable[..., Any], older: str, status: str
) -> None:
    runs = {made: make_run(alice, status=made) for made in ("pending", "running", "awaiting_user")}
    for made in ("completed", "failed"):
        runs[made] = make_run(alice, status=made, ended_at=timezone.now())

    listed = api_of(alice).get(f"/api/v1/executions?status={older}").json()["results"]

    assert [(one["id"], one["status"]) for one in listed] == [(str(runs[status].id), status)]


@pytest.mark.spec("S52")
def test_a_programs_own_name_for_its_task_stays_with_its_run_and_finds_it(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)
    run = actions.say_in_new(alice, actions.Question("Hi", options={"task_id": "ticket-7"})).execution
    actions.say_in_new(alice, actions.Question("Something else"))
    make_run(charlie, task_id="ticket-7")

    with CaptureQueriesContext(connection) as queries:
        found = api.get("/api/v1/executions?task_id=ticket-7").json()["results"]
    with CaptureQueriesContext(connection) as without:
        listed = api.get("/api/v1/executions").json()["results"]

    assert [(one["id"], one["task_id"]) for one in found] == [(str(run.id), "ticket-7")]
    assert [one["task_id"] for one in listed] == [None, "ticket-7"]
    assert api.get(f"/api/v1/executions/{run.id}").json()["task_id"] == "ticket-7"
    assert api.get("/api/v1/executions?task_id=ticket-8").json()["results"] == []
    assert len(queries) == len(without)


def test_what_somebody_calls_their_tasks_is_no_administrators_matter(
    alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    make_run(alice, task_id="divorce")

    (seen,) = api_of(bob, scopes=["read", "admin"]).get(f"/api/v1/executions?user={alice.id}").json()["results"]

    assert seen["task_id"] is None


def test_administrators_list_other_peoples_runs_without_what_was_asked(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    run = make_run(alice, question="My secret")
    url = f"/api/v1/executions?user={alice.id}"

    seen = api_of(bob, scopes=["read", "admin"]).get(url).json()["results"]

    assert [(one["id"], one["question"]) for one in seen] == [(str(run.id), "")]
    assert api_of(charlie).get(url).json()["results"] == []
    assert api_of(bob, scopes=["read"]).get(url).json()["results"] == []


def test_the_roster_names_the_chat_agent(alice: Any, api_of: Callable[..., Any]) -> None:
    roster = api_of(alice).get("/api/v1/agents").json()["results"]

    assert [agent["name"] for agent in roster if agent["enabled"]][:1] == ["chat"]
