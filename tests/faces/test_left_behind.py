"""What a turn leaves behind when its answer stands: words that nobody heard, a title, what is to be learned."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents import actions as runs
from agents.models import AgentExecution, Execution, Intervention, Step
from conversations import actions, afterwards, retention, tasks
from conversations.models import Conversation, Message
from conversations.shapes import message_shape

pytestmark = pytest.mark.django_db


def end(said: Any, *, status: str = "completed", **result: Any) -> None:
    now = timezone.now()
    Execution.objects.filter(id=said.execution.id).update(
        status=status, answer="Three years.", result=result, started_at=now, ended_at=now
    )
    tasks.turn_finished(str(said.execution.id))


def questions(conversation: Conversation) -> list[str]:
    return list(Message.objects.filter(conversation=conversation, role="user").values_list("text", flat=True))


def hears(said: Any, text: str) -> None:
    """An agent of the run has heard it at its last look."""
    agent = AgentExecution.objects.create(execution=said.execution, agent_name="chat", lineage="root.chat-0")
    told = Intervention.objects.get(execution=said.execution, text=text)
    Step.objects.create(
        agent=agent, path=[0], kind="note", name="heard", request={}, request_hash=b"", status="finished",
        response=[{"id": str(told.id), "text": text}], epoch=1, started_at=timezone.now(),
    )  # fmt: skip


@pytest.mark.spec("S100")
def test_what_was_added_when_no_agent_listened_any_more_is_the_next_question(alice: Any) -> None:
    conversation = actions.create(alice)
    said = actions.say(
        alice, conversation.id, actions.Question("How long is the warranty?", mode="chat", options={"tier": "max"})
    )
    for text in ("In years.", "And in French.", "Please."):
        runs.steer(said.execution.id, by=alice, text=text)
    hears(said, "In years.")

    end(said)
    tasks.turn_finished(str(said.execution.id))

    assert questions(conversation) == ["How long is the warranty?", "And in French.\n\nPlease."]
    asked = Message.objects.get(conversation=conversation, text__startswith="And in French.")
    assert (asked.parent_id, asked.mode, asked.metadata["options"]) == (said.reply.id, "chat", {"tier": "max"})
    assert Execution.objects.filter(message__parent=asked, status="pending").count() == 1


@pytest.mark.spec("S100")
def test_what_was_added_and_is_refused_as_a_question_is_kept_and_its_person_told(alice: Any, settings: Any) -> None:
    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("How long is the warranty?"))
    runs.steer(said.execution.id, by=alice, text="In years.")
    busy = actions.say_in_new(alice, actions.Question("Something else?"))
    settings.CONFIG = settings.CONFIG.model_copy(update={"runs_at_once": 1})

    end(said)

    shown = message_shape(Message.objects.get(pk=said.reply.id))["unasked"]
    assert questions(conversation) == ["How long is the warranty?"]
    assert shown["text"] == "In years."
    assert "as many as may be" in shown["why"]

    Execution.objects.filter(id=busy.execution.id).update(status="completed", ended_at=timezone.now())
    tasks.turn_finished(str(said.execution.id))
    assert questions(conversation) == ["How long is the warranty?"]


@pytest.mark.parametrize(
    ("status", "why"),
    [("cancelled", "The answer was stopped before any agent had read it."), ("failed", "The answer failed before")],
    ids=["cancelled", "failed"],
)
def test_what_was_added_to_a_run_that_was_not_answered_is_not_asked_and_kept(alice: Any, status: str, why: str) -> None:
    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("How long is the warranty?"))
    for text in ("In years.", "And in French."):
        runs.steer(said.execution.id, by=alice, text=text)
    hears(said, "In years.")

    end(said, status=status)
    tasks.turn_finished(str(said.execution.id))

    assert questions(conversation) == ["How long is the warranty?"]
    kept = message_shape(Message.objects.get(pk=said.reply.id))["unasked"]
    assert kept["text"] == "And in French."
    assert kept["why"].startswith(why)


@pytest.mark.spec("S24")
def test_what_was_not_ready_is_done_by_one_run_that_nobody_sees_and_titles_the_conversation(
    alice: Any, charlie: Any
) -> None:
    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("How long is the warranty?"))
    origin = {"run": "r", "execution": str(said.execution.id), "conversation": str(conversation.id), "message_id": "m"}
    left = {"what": ["title", "learn"], "question": "How long is the warranty?", "origin": origin}

    end(said, left=left)
    tasks.turn_finished(str(said.execution.id))

    [run] = Execution.objects.filter(pipeline="afterwards")
    assert (run.user, run.conversation_id, run.id) == (alice, None, afterwards.run_of(said.execution.id))
    assert {name: run.input[name] for name in left} == left
    assert list(Execution.objects.of(alice).asked()) == [Execution.objects.get(id=said.execution.id)]
    Execution.objects.filter(id=run.id).update(
        status="completed", result={"title": "Warranty"}, ended_at=timezone.now()
    )
    tasks.afterwards_finished(str(run.id))
    assert Conversation.objects.get(id=conversation.id).title == "Warranty"


def test_a_title_that_comes_late_replaces_no_persons_and_no_other_persons_conversation_s(
    alice: Any, charlie: Any
) -> None:
    named = actions.create(alice, title="Mine")
    for user, conversation in ((alice, named), (charlie, actions.create(alice))):
        origin = {"run": "r", "execution": str(uuid.uuid4()), "conversation": str(conversation.id), "message_id": ""}
        run = Execution(user=user, input={"origin": origin}, result={"title": "Late"})
        afterwards.finish(run)

    assert set(Conversation.objects.values_list("title", flat=True)) == {"Mine", ""}


@pytest.mark.spec("B21")
def test_what_runs_beside_a_deleted_conversation_read_is_erased_with_it(alice: Any, settings: Any) -> None:
    conversation = actions.create(alice)
    said = actions.say(alice, conversation.id, actions.Question("My secret is 4711."))
    left = {"what": ["learn"], "question": "My secret is 4711.", "origin": {"conversation": str(conversation.id)}}
    end(said, left=left)
    Execution.objects.update(status="completed", ended_at=timezone.now())
    actions.delete(alice, conversation.id)
    Conversation.objects.update(deleted_at=timezone.now() - timedelta(days=400))

    retention.keep_no_longer()

    assert not Conversation.objects.exists()
    kept = [f"{run.question} {run.input} {run.result} {run.answer}" for run in Execution.objects.all()]
    assert len(kept) == 2
    assert not any("4711" in text for text in kept)
