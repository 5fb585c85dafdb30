"""Rolling summaries: every three turns of a branch, by a run of their own that nobody sees and nobody waits for."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from agents.models import Execution
from conversations import actions, history, summaries, tasks
from conversations.models import Conversation, ConversationSummary, Message
from conversations.owned import Said
from hyperagent.lib.queue import known as known_task
from memory.models import MemoryUse
from memory.remembering import actions as remembering
from tests.memory.remembering.knowing import known
from tests.runtime.driving import Runners, ended, model_env
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

WITH_A_MODEL = model_env("http://127.0.0.1:9")


@pytest.fixture(autouse=True)
def _capable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WITH_A_MODEL.items():
        monkeypatch.setenv(name, value)


def turn(user: Any, conversation: Conversation, question: str, answer: str) -> Said:
    """A question that was answered."""
    said = actions.say(user, conversation.id, actions.Question(question))
    Execution.objects.filter(id=said.execution.id).update(
        status="completed", answer=answer, started_at=timezone.now(), ended_at=timezone.now()
    )
    said.execution.refresh_from_db()
    return said


def turns(user: Any, conversation: Conversation, count: int, *, chars: int = 20) -> list[Said]:
    made = []
    for number in range(count):
        made.append(turn(user, conversation, f"question {number}", f"answer {number} ".ljust(chars, ".")))
        tasks.turn_finished(str(made[-1].execution.id))
    return made


def begun() -> list[Execution]:
    return list(Execution.objects.filter(pipeline="summary").order_by("created_at"))


def finish(run: Execution, text: str) -> None:
    Execution.objects.filter(id=run.id).update(status="completed", answer=text, ended_at=timezone.now())
    tasks.summary_finished(str(run.id))


@pytest.mark.django_db
@pytest.mark.spec("S159")
def test_every_third_turn_the_summary_is_made_of_the_one_before_and_what_came_since(alice: Any) -> None:
    conversation = actions.create(alice)

    turns(alice, conversation, 2)
    assert begun() == []
    [third] = turns(alice, conversation, 1)
    [first] = begun()
    tasks.turn_finished(str(third.execution.id))
    assert len(begun()) == 1
    finish(first, "They spoke of numbers.")
    turns(alice, conversation, 3)
    _, second = begun()
    finish(second, "They spoke of more numbers.")

    assert [said["content"] for said in first.input["history"]][:2] == ["question 0", "answer 0 ..........."]
    assert (first.conversation_id, first.input["earlier"], first.input["turns"]) == (None, "", 3)
    assert (second.input["earlier"], second.input["turns"], len(second.input["history"])) == (
        "They spoke of numbers.",
        6,
        6,
    )
    kept = ConversationSummary.objects.order_by("turns_covered").values_list("text", "turns_covered", "upto_id")
    assert kept[0] == ("They spoke of numbers.", 3, third.reply.id)
    assert [row[1] for row in kept] == [3, 6]


@pytest.mark.django_db
@pytest.mark.spec("S159")
def test_older_messages_are_told_by_the_summary_and_the_newest_word_for_word(alice: Any) -> None:
    conversation = actions.create(alice)
    turns(alice, conversation, 6, chars=5_000)
    for run, text in zip(begun(), ("Of the first three.", "Of all six."), strict=False):
        finish(run, text)

    asked = actions.say(alice, conversation.id, actions.Question("And now?"))

    told = asked.execution.input["history"]
    assert told[0]["role"] == "user"
    assert told[0]["content"].endswith("\nOf the first three.") or told[0]["content"].endswith("\nOf all six.")
    assert "no request" in told[0]["content"]
    assert [said["content"][:10] for said in told[1::2]] == ["question 3", "question 4", "question 5"]


@pytest.mark.django_db
def test_while_everything_is_short_the_conversation_is_told_word_for_word(alice: Any) -> None:
    conversation = actions.create(alice)
    turns(alice, conversation, 3)
    finish(begun()[0], "They spoke of numbers.")

    asked = actions.say(alice, conversation.id, actions.Question("And now?"))

    assert [said["content"][:10] for said in asked.execution.input["history"][::2]] == [
        "question 0",
        "question 1",
        "question 2",
    ]


@pytest.mark.django_db
def test_another_branch_is_not_told_what_was_said_in_this_one(alice: Any) -> None:
    conversation = actions.create(alice)
    made = turns(alice, conversation, 3, chars=9_000)
    finish(begun()[0], "Of this branch.")

    again = actions.retry_reply(alice, made[1].message.id)

    assert all("Of this branch." not in said["content"] for said in again.execution.input["history"])


@pytest.mark.django_db
@pytest.mark.parametrize("case", ["temporary", "failed", "no model"])
def test_no_summary_is_made_where_none_is_wanted(case: str, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = actions.create(alice, is_temporary=case == "temporary")
    if case == "no model":
        monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", "")
    turns(alice, conversation, 2)
    last = turn(alice, conversation, "question 2", "answer 2")
    if case == "failed":
        Execution.objects.filter(id=last.execution.id).update(status="failed", answer="")

    tasks.turn_finished(str(last.execution.id))

    assert begun() == []


@pytest.mark.django_db
def test_a_summary_of_a_conversation_that_is_gone_is_not_kept(alice: Any) -> None:
    conversation = actions.create(alice)
    turns(alice, conversation, 3)
    actions.delete(alice, conversation.id)

    finish(begun()[0], "They spoke of numbers.")

    assert ConversationSummary.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.spec("B18")
def test_forgetting_takes_the_summaries_that_were_made_of_its_source(alice: Any) -> None:
    conversation = actions.create(alice)
    made = turns(alice, conversation, 6)
    for run, text in zip(begun(), ("She is an engineer.", "She is an engineer, still."), strict=False):
        finish(run, text)
    source = {"source_conversation": conversation.id, "source_turn": str(made[4].message.id)}
    memory = known(alice, "She is an engineer.", **source)
    known_task("conversations.tasks.memory_forgotten")  # raises if there is none

    remembering.forget(alice, memory.id)
    tasks.memory_forgotten(str(memory.id))

    left = list(ConversationSummary.objects.values_list("turns_covered", flat=True))
    assert left == [3]
    assert [run.input["turns"] for run in begun()] == [3]
    tasks.turn_finished(str(made[5].execution.id))
    assert [run.input["turns"] for run in begun()] == [3, 6]


@pytest.mark.django_db
@pytest.mark.spec("B18")
def test_nor_is_one_kept_that_was_being_made_of_it_and_came_to_its_end_before_it_heard(alice: Any) -> None:
    conversation = actions.create(alice)
    made = turns(alice, conversation, 3)
    source = {"source_conversation": conversation.id, "source_turn": str(made[1].message.id)}
    memory = known(alice, "She is an engineer.", **source)

    remembering.forget(alice, memory.id)
    tasks.memory_forgotten(str(memory.id))
    finish(begun()[0], "She is an engineer.")

    assert ConversationSummary.objects.count() == 0


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.spec("B18")
def test_forgetting_takes_the_summaries_that_were_made_after_it_was_told_in_another_conversation(alice: Any) -> None:
    memory = known(alice, "She is an engineer.", source_turn="imported")
    told, untold = actions.create(alice), actions.create(alice)
    made = turns(alice, told, 6)
    turns(alice, untold, 3)
    for run, text in zip(begun(), ("Of before.", "She is an engineer.", "Of another."), strict=True):
        finish(run, text)
    for run in (said.execution for said in made[3:5]):
        use = {"execution": run.id, "conversation": told.id, "used_at": run.started_at}
        MemoryUse.objects.create(memory=memory, why="It fits.", **use)

    remembering.forget(alice, memory.id)
    queued = [SignedPackage.loads(payload)["func"] for payload in OrmQ.objects.values_list("payload", flat=True)]
    tasks.memory_forgotten(str(memory.id))

    assert "conversations.tasks.memory_forgotten" in queued
    assert set(ConversationSummary.objects.values_list("text", flat=True)) == {"Of before.", "Of another."}
    tasks.turn_finished(str(made[5].execution.id))
    assert sorted(run.input["turns"] for run in begun()) == [3, 3, 6], "and it is made anew"


@pytest.mark.django_db
def test_what_the_installation_does_by_itself_is_in_no_list(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = actions.create(alice)
    turns(alice, conversation, 3)
    api = api_of(alice)
    [run] = begun()

    listed = api.get("/api/v1/executions").json()["results"]

    assert str(run.id) not in {one["id"] for one in listed}
    assert len(listed) == 3
    assert not Message.objects.filter(execution=run).exists()
    assert api.get(f"/api/v1/conversations/{conversation.id}").json()["running"] is False


async def test_the_run_asks_the_cheap_model_and_its_answer_becomes_the_summary(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    conversation = await sync_to_async(actions.create)(alice)
    await sync_to_async(turns)(alice, conversation, 3)
    await sync_to_async(Execution.objects.exclude(pipeline="summary").update)(lease_until=None)
    scripted_server.script(Script(text="They counted to three.", model="scripted-flash"))
    provider = json.loads(model_env(scripted_server.url)["OPENAI_COMPATIBLE_PROVIDERS"])
    provider[0]["tier_models"]["flash"] = "scripted-flash"
    await make_runner(scripted_server.url, env={"OPENAI_COMPATIBLE_PROVIDERS": json.dumps(provider)})

    run = await ended(summaries.run_of(await _last_reply(conversation.id)))
    await sync_to_async(tasks.summary_finished)(str(run.id))

    assert (run.status, run.answer) == ("completed", "They counted to three.")
    assert "question 2" in scripted_server.calls[0].last_user
    assert await sync_to_async(lambda: ConversationSummary.objects.get().text)() == "They counted to three."


@sync_to_async
def _last_reply(conversation_id: uuid.UUID) -> uuid.UUID:
    return history.branch(conversation_id)[-1].id


@pytest.mark.django_db
def test_a_temporary_chat_is_in_no_list_and_says_so(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)

    made = api.post("/api/v1/conversations", {"temporary": True}, format="json").json()
    said = actions.say(alice, uuid.UUID(made["id"]), actions.Question("I am an engineer."))

    assert made["is_temporary"] is True
    for query in ("", "?origin=all", "?origin=chat"):
        assert api.get(f"/api/v1/conversations{query}").json()["results"] == []
    assert api.get(f"/api/v1/conversations/{made['id']}").json()["is_temporary"] is True
    assert said.execution.input["is_temporary"] is True
    assert said.execution.input["message_id"] == str(said.message.id)


@pytest.mark.django_db
def test_only_a_new_conversation_can_be_temporary() -> None:
    from conversations.api.serializers import QuerySerializer  # reads the settings when it is imported

    asked = QuerySerializer(data={"query": "Hi", "temporary": True, "conversation_id": str(uuid.uuid4())})

    assert not asked.is_valid()
    assert list(asked.errors) == ["temporary"]
