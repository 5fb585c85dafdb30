"""What is kept no longer: old conversations are deleted, what was said in deleted ones is erased, the audit stays."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.utils import timezone

from agents.engine.events import Complete
from agents.models import AgentExecution, Event, Execution, Step
from conversations import actions, retention
from conversations.models import Conversation, Message
from hitl.models import Request, Rule, RuleUse
from hyperagent.accounts import closing
from hyperagent.accounts.models import Closing
from hyperagent.lib import rows
from tests.accounts.keeping import tables_with
from tests.faces.runs import append, make_agent, make_request, make_step, tokens

pytestmark = [pytest.mark.django_db, pytest.mark.spec("B21")]
SECRET = "walrus"


@pytest.fixture
def keeps(settings: Any) -> Any:
    """Sets for how many days: `keeps(retention_days=30)`."""

    def keep(**days: int) -> None:
        settings.CONFIG = django_settings.CONFIG.model_copy(update=days)

    return keep


def talk(user: Any, *, days: int, is_over: bool = True) -> Conversation:
    """A conversation that was spoken in so many days ago."""
    said = actions.say_in_new(user, actions.Question(f"{SECRET} question"))
    run = said.execution
    append(run, *tokens(f"{SECRET} answer"), *([Complete(answer=f"{SECRET} answer")] if is_over else []))
    agent = make_agent(run, task=f"{SECRET} task", status="completed")
    make_step(agent, [1], "model", "agent", request={"said": SECRET})
    make_request(run, question={"question": f"{SECRET}?"}, status="answered", answer={"text": SECRET})
    at = timezone.now() - timedelta(days=days)
    Conversation.objects.filter(pk=said.conversation.pk).update(updated_at=at)
    return said.conversation


def rule_of(user: Any, conversation: Conversation, scope: str) -> Rule:
    """A standing rule that was made in this conversation, and a call that was carried out by it."""
    run = Execution.objects.get(conversation_id=conversation.pk)
    rule = Rule.objects.create(
        user=user, effect="allow", scope=scope, execution_id=run.pk, conversation_id=conversation.pk,
        tool="send_email", text=f"Always {SECRET}", conditions=[{"path": "to", "op": "equals", "value": SECRET}],
    )  # fmt: skip
    RuleUse.objects.create(
        rule=rule, call_key=f"{scope} {run.pk}", execution_id=run.pk, agent_name="mail", tool="send_email",
        arguments={"to": SECRET}, arguments_hash="5e11",
    )  # fmt: skip
    return rule


def test_conversations_of_long_ago_are_deleted_but_not_pinned_ones_and_none_by_default(alice: Any, keeps: Any) -> None:
    old, pinned, running, fresh = (
        talk(alice, days=40),
        talk(alice, days=40),
        talk(alice, days=40, is_over=False),
        talk(alice, days=5),
    )
    actions.pin(alice, pinned.pk, is_pinned=True)

    keeps(retention_days=0)
    retention.keep_no_longer()
    assert not Conversation.objects.exclude(deleted_at=None).exists()
    keeps(retention_days=30)
    retention.keep_no_longer()

    assert set(Conversation.objects.filter(deleted_at=None)) == {pinned, running, fresh}
    assert Message.objects.filter(conversation=old).exists(), "it can still be brought back by hand for a while"


def test_one_machine_with_a_wrong_clock_deletes_nothing(alice: Any, keeps: Any) -> None:
    keeps(retention_days=30, retention_deleted_days=30)
    lately, deleted = talk(alice, days=5), talk(alice, days=5)
    actions.delete(alice, deleted.pk)

    with time_machine.travel(timezone.now() + timedelta(days=365)):
        retention.keep_no_longer()

    assert set(Conversation.objects.filter(deleted_at=None)) == {lately}
    assert Message.objects.filter(conversation=deleted).exists()


_WAITING_FOR_US = """
    SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["said", "pinned", "deleted"])
def test_one_that_somebody_comes_back_to_at_that_instant_stays(alice: Any, keeps: Any, what: str) -> None:
    keeps(retention_days=30)
    old, other = talk(alice, days=50), talk(alice, days=40)
    acts: dict[str, Callable[[], object]] = {
        "said": lambda: actions.say(alice, old.pk, actions.Question("And now?")),
        "pinned": lambda: actions.pin(alice, old.pk, is_pinned=True),
        "deleted": lambda: actions.delete(alice, old.pk),
    }
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            acts[what]()
            keeping = pool.submit(_keep_no_longer)
            while not keeping.done() and rows.execute(_WAITING_FOR_US, []).fetchone()[0] == 0:
                pass
        keeping.result(20)

    left = set(Conversation.objects.filter(deleted_at=None).values_list("pk", flat=True))
    assert left == (set() if what == "deleted" else {old.pk})
    assert other.pk not in left


def _keep_no_longer() -> None:
    try:
        retention.keep_no_longer()
    finally:
        connection.close()


@pytest.mark.slow
def test_what_was_said_in_a_deleted_conversation_is_erased_lot_by_lot_and_the_audit_stays(
    alice: Any, charlie: Any, keeps: Any, api_of: Any, client_of: Any
) -> None:
    kept, gone, lately = talk(charlie, days=400), talk(alice, days=400), talk(alice, days=400)
    for conversation, days in ((gone, 31), (lately, 29)):
        actions.delete(alice, conversation.pk)
        Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now() - timedelta(days=days))
    keeps(retention_deleted_days=30)

    rules = {scope: rule_of(alice, gone, scope) for scope in ("conversation", "run", "rule")}
    rounds = 0
    while retention.erase_some(timezone.now() - timedelta(days=30)):
        rounds += 1
        assert rounds < 20

    assert rounds > 3
    assert set(Conversation.objects.all()) == {kept, lately}
    run = Execution.objects.get(conversation_id=gone.pk)
    assert (run.status, run.question, run.answer) == ("completed", "", "")
    assert not Event.objects.filter(execution=run).exists()
    assert AgentExecution.objects.get(execution=run).task == ""
    assert Step.objects.get(agent__execution=run).request == {}
    request = Request.objects.get(execution_id=run.pk)
    assert (request.status, request.answer) == ("answered", None)
    assert set(Rule.objects.standing()) == {rules["rule"]}
    rules["rule"].used.all().delete()
    rules["rule"].delete()
    assert set(RuleUse.objects.values_list("tool", "arguments_hash")) == {("send_email", "5e11")}
    listed = api_of(alice).get("/api/v1/hitl/rules").json()["results"]
    assert {(one["tool"], one["text"], one["state"]) for one in listed} == {("send_email", "", "revoked")}
    assert client_of(alice).get("/rules/").content.decode().count("erased with its conversation") == 2
    Execution.objects.exclude(pk=run.pk).delete()
    Request.objects.exclude(pk=request.pk).delete()
    Conversation.objects.all().delete()
    assert tables_with(SECRET) == {}


def a_long_line(user: Any, *, messages: int) -> Conversation:
    """Each message an answer to the one before."""
    conversation = Conversation.objects.create(user=user, title="Long")
    began = timezone.now() - timedelta(days=60)
    line: list[Message] = []
    for number in range(messages):
        said: dict[str, Any] = {"role": "user", "text": SECRET, "created_at": began + timedelta(seconds=number)}
        line.append(Message(conversation=conversation, parent=line[-1] if line else None, **said))
    Message.objects.bulk_create(line)
    return conversation


@pytest.mark.slow
def test_a_conversation_of_thousands_of_messages_is_erased_too(alice: Any, keeps: Any) -> None:
    long, short = a_long_line(alice, messages=retention.MESSAGES_AT_ONCE + 600), talk(alice, days=40)
    for conversation in (long, short):
        actions.delete(alice, conversation.pk)
    Conversation.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    keeps(retention_deleted_days=30)

    retention.keep_no_longer()

    assert not Message.objects.exists()
    assert not Conversation.objects.exists()


@pytest.mark.slow
def test_an_account_with_a_conversation_of_thousands_of_messages_ends(alice: Any) -> None:
    a_long_line(alice, messages=retention.MESSAGES_AT_ONCE + 600)
    closing.close(alice, by=alice)

    closing.erase(alice.pk)

    assert Closing.objects.get().done_at is not None
    assert not Message.objects.exists()
