"""Rows read and written by ready-made SQL are what Django's own ways read and write."""

from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, connections, transaction
from django.db.models import Model

from agents.models import Execution
from conversations.models import Conversation, Message, Role
from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import ServiceAccount
from hyperagent.lib import rows


def values_of(one: Model) -> dict[str, Any]:
    return {field.attname: getattr(one, field.attname) for field in type(one)._meta.concrete_fields}


def read(sql: str, *models: type[Model]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(rows.read(cursor.fetchone(), *models))


def a_reply(conversation: Conversation, execution: Execution | None, **more: Any) -> Message:
    return Message(conversation=conversation, role=Role.ASSISTANT, execution=execution, **more)


def a_run(user: User, **more: Any) -> Execution:
    exact = {"b": 1, "a": [1e22, None, "ü\u2028"], "nested": {"z": {}, "y": "'%s"}}
    return Execution(user=user, question="What's '%s' -- ?", input=exact, cost_usd="0.125", **more)


def test_what_was_inserted_is_what_django_reads_and_no_longer_new(alice: Any) -> None:
    conversation = Conversation.objects.create(user=alice)
    run, reply = a_run(alice), a_reply(conversation, None, metadata={"attachments": [{"name": "a \\ b"}]}, text="é\n")

    rows.insert(run)
    reply.execution = run
    rows.insert(Message(conversation=conversation, role=Role.USER, text="?"), reply)

    stored = Execution.objects.get(id=run.id)
    assert list(stored.input) == ["b", "a", "nested"]
    assert values_of(stored) | {"cost_usd": "0.125", "last_hash": b""} == values_of(run) | {"last_hash": b""}
    assert bytes(stored.last_hash) == bytes(32)
    assert values_of(Message.objects.get(id=reply.id)) == values_of(reply)
    reply.text = "changed"
    reply.save()
    assert Message.objects.filter(conversation=conversation).count() == 2


def test_what_is_read_is_what_django_reads(alice: Any) -> None:
    conversation = Conversation.objects.create(user=alice, title="It's 100 %")
    Message.objects.create(
        conversation=conversation, role=Role.USER, text="?", metadata={"follow_ups": ["a"], "n": 1.5}
    )
    tables = "conversations_message m JOIN conversations_conversation c ON c.id = m.conversation_id"

    message, found = read(
        f"SELECT {rows.columns(Message, 'm')}, {rows.columns(Conversation, 'c')} FROM {tables}", Message, Conversation
    )

    assert values_of(message) == values_of(Message.objects.get())
    assert message.metadata == {"follow_ups": ["a"], "n": 1.5}
    assert values_of(found) == values_of(conversation)
    found.title = "Another"
    found.save()
    assert Conversation.objects.get().title == "Another"


def test_a_row_that_an_outer_join_did_not_find_is_none(alice: Any) -> None:
    user, program = read(
        f"SELECT {rows.columns(User, 'u')}, {rows.columns(ServiceAccount, 's')}"
        " FROM accounts_user u LEFT JOIN accounts_serviceaccount s ON s.user_id = u.id",
        User,
        ServiceAccount,
    )

    assert user == alice
    assert program is None


def test_what_the_database_refuses_is_djangos_error_and_stays_new(alice: Any) -> None:
    conversation = Conversation.objects.create(user=alice)
    Message.objects.create(conversation=conversation, role=Role.USER, client_id="one")
    again = Message(conversation=conversation, role=Role.USER, client_id="one")

    with pytest.raises(IntegrityError, match="said_once"), transaction.atomic():
        rows.insert(Message(conversation=conversation, role=Role.USER), again)

    assert again._state.adding
    assert Message.objects.count() == 1


def test_what_is_asked_together_is_answered_in_order_and_each_sees_what_came_before(alice: Any) -> None:
    conversation = Conversation.objects.create(user=alice)
    count = "SELECT count(*) FROM conversations_message WHERE conversation_id = %s"

    with transaction.atomic(), rows.together():
        before = rows.execute(count, [conversation.id])
        rows.insert(Message(conversation=conversation, role=Role.USER))
        after = rows.execute(count, [conversation.id])

        assert (after.fetchone(), before.fetchone()) == ((1,), (0,))
        assert Message.objects.count() == 1


def test_what_is_wrong_together_is_djangos_error_where_the_next_is_read_or_at_the_end(alice: Any) -> None:
    conversation = Conversation.objects.create(user=alice)
    twice = [Message(conversation=conversation, role=Role.USER, client_id="one") for _ in range(2)]

    with pytest.raises(IntegrityError, match="said_once"), transaction.atomic(), rows.together():
        rows.insert(*twice)

    def told_by_the_next() -> None:
        with transaction.atomic(), rows.together():
            rows.insert(*twice)
            asked = rows.execute("SELECT %s::int", [1])
            with pytest.raises(IntegrityError, match="said_once"):
                asked.fetchone()
            raise LookupError

    with pytest.raises((LookupError, IntegrityError)):
        told_by_the_next()

    assert Message.objects.count() == 0


def test_what_is_executed_again_is_planned_once_where_the_settings_say_so(alice: Any) -> None:
    prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%% + 1942'"

    for number in range(4):
        assert rows.execute("SELECT %s::int + 1942", [number]).fetchone() == (number + 1942,)

    assert connection.connection.prepare_threshold is not None
    assert rows.execute(prepared, []).fetchone() == (1,)


@pytest.mark.django_db(transaction=True)
def test_that_the_database_is_away_is_djangos_error_and_the_next_statement_connects_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection.ensure_connection()
    connection.connection.close()
    # As at the beginning of a request; to connect sets both.
    vars(connections["default"]).update(health_check_enabled=True, health_check_done=False)
    with monkeypatch.context() as away:
        away.setitem(connection.settings_dict, "HOST", "/nowhere")
        with pytest.raises(OperationalError, match="/nowhere"):
            rows.execute("SELECT 1", [])

    assert rows.execute("SELECT 1", []).fetchone() == (1,)
