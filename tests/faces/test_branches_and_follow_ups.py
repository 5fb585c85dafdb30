"""Edited questions as branches, pinned conversations, and what may be asked next."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from agents.models import Execution
from conversations import actions, follow_ups, tasks
from conversations.models import Conversation
from hyperagent.lib.conf import Switch
from tests.faces.conftest import token_of
from tests.faces.sockets import Socket, address
from tests.runtime.driving import Runners, ended
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

BASE = "/api/v1/conversations"
PROVIDER = {
    "name": "scripted",
    "base_url": "http://127.0.0.1:9/v1",
    "api_key": "sk-x",
    "tier_models": {"pro": "scripted-pro", "flash": "scripted-flash"},
}


@pytest.fixture
def _two_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", json.dumps([PROVIDER]))
    monkeypatch.setenv("DEFAULT_PROVIDER", "scripted")


def end(said: Any, answer: str = "Three years.", status: str = "completed") -> None:
    now = timezone.now()
    Execution.objects.filter(id=said.execution.id).update(status=status, answer=answer, started_at=now, ended_at=now)
    tasks.turn_finished(str(said.execution.id))


def begun() -> list[Execution]:
    return list(Execution.objects.filter(pipeline="follow_ups").order_by("created_at"))


def finish(run: Execution, *questions: str) -> None:
    result = {"answer": "", "sources": [], "questions": list(questions)}
    Execution.objects.filter(id=run.id).update(status="completed", result=result, ended_at=timezone.now())
    tasks.follow_ups_finished(str(run.id))


# ── branches ──


@pytest.mark.django_db
def test_an_edited_question_stands_beside_the_first_and_is_told_only_what_was_before(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    api, conversation = api_of(alice), actions.create(alice)
    url = f"{BASE}/{conversation.id}/messages"
    first = actions.say(alice, conversation.id, actions.Question("How long is the warranty?"))
    end(first)
    second = actions.say(alice, conversation.id, actions.Question("And the filter?"))
    end(second, "It is not covered.")

    edited = api.post(url, {"text": "And the seals?", "edits": str(second.message.id)}).json()
    at_the_root = api.post(url, {"text": "What is a pump?", "edits": str(first.message.id)}).json()
    later = api.post(url, {"text": "Who says so?", "after": str(second.reply.id)}).json()
    beside = api.post(url, {"text": "And the hose?", "parent_id": str(first.reply.id)}).json()

    assert edited["message"]["parent_id"] == str(first.reply.id)
    assert at_the_root["message"]["parent_id"] is None
    assert later["message"]["parent_id"] == str(second.reply.id)
    assert beside["message"]["parent_id"] == str(first.reply.id)
    told = [Execution.objects.get(id=one["reply"]["execution"]["id"]).input["history"] for one in (edited, at_the_root)]
    assert [[said["content"] for said in history] for history in told] == [
        ["How long is the warranty?", "Three years."],
        [],
    ]


@pytest.mark.django_db
def test_a_place_in_another_conversation_and_an_answer_cannot_be_edited(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    api, mine = api_of(alice), actions.create(alice)
    theirs = actions.say(charlie, actions.create(charlie).id, actions.Question("Charlie's question"))
    asked = actions.say(alice, mine.id, actions.Question("Mine"))
    url = f"{BASE}/{mine.id}/messages"

    answers = [
        api.post(url, {"text": "x", place: str(one)})
        for place, one in (
            ("edits", theirs.message.id),
            ("after", theirs.reply.id),
            ("parent_id", theirs.reply.id),
            ("edits", uuid.uuid4()),
            ("edits", asked.reply.id),
        )
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 404, 400]
    assert mine.messages.count() == 2


@pytest.mark.django_db
def test_a_pinned_conversation_says_so_and_is_its_owners_alone(
    alice: Any, charlie: Any, api_of: Callable[..., Any], client_of: Callable[..., Any]
) -> None:
    conversation = actions.create(alice, title="Pump")
    url = f"{BASE}/{conversation.id}"

    pinned = api_of(alice).patch(url, {"pinned": True}).json()
    foreign = api_of(charlie).patch(url, {"pinned": False})

    assert pinned["pinned_at"] is not None
    assert foreign.status_code == 404
    page = client_of(alice).get("/").context["page_data"]
    assert [one["id"] for one in page["pinned"]] == [str(conversation.id)]
    assert client_of(charlie).get("/").context["page_data"]["pinned"] == []
    assert api_of(alice).patch(url, {"pinned": False}).json()["pinned_at"] is None


# ── what may be asked next ──


@pytest.mark.django_db
@pytest.mark.usefixtures("_two_tiers")
def test_after_an_answer_a_run_of_its_own_thinks_of_questions_and_a_reload_shows_them(
    alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("How long is the warranty?"))
    end(said)
    tasks.turn_finished(str(said.execution.id))

    [run] = begun()
    finish(run, "Is the filter covered?", "How do I claim it?")

    assert (run.input["asked"], run.input["answered"]) == ("How long is the warranty?", "Three years.")
    assert run.conversation_id is None
    shown = api_of(alice).get(f"{BASE}/{conversation.id}/messages").json()["results"]
    assert [one["follow_ups"] for one in shown] == [[], ["Is the filter covered?", "How do I claim it?"]]
    assert [one["id"] for one in api_of(alice).get("/api/v1/executions").json()["results"]] == [str(said.execution.id)]
    assert api_of(charlie).get(f"{BASE}/{conversation.id}/messages").status_code == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("_two_tiers")
def test_nothing_is_thought_of_where_it_is_not_wanted(
    alice: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = actions.create(alice)
    end(actions.say(alice, conversation.id, actions.Question("This fails")), "", "failed")
    end(actions.say(alice, conversation.id, actions.Question("This is stopped")), "Half", "cancelled")
    older = actions.say(alice, conversation.id, actions.Question("One"))
    newer = actions.say(alice, conversation.id, actions.Question("Two"))
    end(older)
    assert begun() == []

    settings.CONFIG = settings.CONFIG.model_copy(update={"follow_ups": Switch.OFF})
    end(newer)
    settings.CONFIG = settings.CONFIG.model_copy(update={"follow_ups": Switch.ON})
    one_model = {**PROVIDER, "tier_models": {"pro": "scripted-pro"}}
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", json.dumps([one_model]))
    end(newer)
    assert begun() == []


@pytest.mark.django_db
@pytest.mark.usefixtures("_two_tiers")
def test_questions_for_a_conversation_that_is_gone_are_dropped(alice: Any) -> None:
    conversation = actions.create(alice)
    end(actions.say(alice, conversation.id, actions.Question("How long?")))
    actions.delete(alice, conversation.id)

    finish(begun()[0], "Why?")

    assert all(
        follow_ups.KEY not in one.metadata for one in Conversation.objects.get(id=conversation.id).messages.all()
    )


async def test_a_runner_asks_the_cheap_model_and_whoever_looks_is_told(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, monkeypatch: pytest.MonkeyPatch, in_threads: None
) -> None:
    provider = [{**PROVIDER, "base_url": f"{scripted_server.url}/v1"}]
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", json.dumps(provider))
    monkeypatch.setenv("DEFAULT_PROVIDER", "scripted")
    conversation = await sync_to_async(actions.create)(alice)
    said = await sync_to_async(actions.say)(alice, conversation.id, actions.Question("How long is the warranty?"))
    await sync_to_async(end)(said)
    found = json.dumps({"questions": ["Is the filter covered?"]})
    scripted_server.script(Script(match="Three years.", model="scripted-flash", text=found))
    await make_runner(scripted_server.url, env={"OPENAI_COMPATIBLE_PROVIDERS": json.dumps(provider)})
    run = await ended(follow_ups.run_of(said.reply.id))
    assert (run.status, run.error_message) == ("completed", "")

    async with Socket(address(conversation.id), token=await sync_to_async(token_of)(alice), origin=None) as socket:
        await socket.send(type="ping")
        await socket.frame("pong")
        await sync_to_async(tasks.follow_ups_finished)(str(run.id))
        told = await socket.frame("follow_ups")

    assert told == {"type": "follow_ups", "message_id": str(said.reply.id), "questions": ["Is the filter covered?"]}
    await sync_to_async(said.execution.refresh_from_db)()
    assert (said.execution.answer, said.execution.status) == ("Three years.", "completed")
