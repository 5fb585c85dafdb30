"""A conversation that is deleted, and a process that dies as it is."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection

from agents.apps.models import App
from agents.models import Execution
from agents.sandbox.models import CloseWanted, SandboxSession
from conversations import actions
from conversations.models import Conversation
from conversations.owned import Said
from memory.models import WorkspaceFile
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.jobs import do_jobs


class Died(Exception):
    """The process was gone before it could ask the database for more."""


def dies_after_commit(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    if not connection.in_atomic_block:
        raise Died
    return execute(sql, params, many, context)


def with_everything(alice: Any) -> Said:
    """A conversation whose run is live, with an app, an open box and a file."""
    said = actions.say_in_new(alice, actions.Question("Build me something."))
    task = said.conversation.id
    App.objects.create(user=alice, task_id=task, title="Game", command="run", port=8000, label="game")
    SandboxSession.objects.create(user=alice, task_id=task, key=f"box of {task}", provider="local", host="here")
    files.write(alice.pk, Place(Scope.CONVERSATION, task), "notes.md", b"notes")
    return said


@pytest.mark.django_db(transaction=True)
def test_whoever_dies_right_after_the_commit_leaves_nothing_going(alice: Any) -> None:
    said = with_everything(alice)
    task = said.conversation.id

    with connection.execute_wrapper(dies_after_commit), suppress(Died):
        actions.delete(alice, task)
    do_jobs()

    assert Conversation.objects.get(pk=task).deleted_at is not None
    assert Execution.objects.get(pk=said.execution.pk).cancel_requested_at is not None
    assert not App.objects.filter(task_id=task).exists()
    assert SandboxSession.objects.get(task_id=task).close_wanted == CloseWanted.REMOVE
    assert not WorkspaceFile.objects.filter(scope_id=task).exists()


@pytest.mark.django_db
def test_the_job_of_a_conversation_that_is_there_takes_nothing_away(alice: Any) -> None:
    said = with_everything(alice)

    actions.clear(said.conversation.id)

    assert WorkspaceFile.objects.filter(scope_id=said.conversation.id).exists()
    assert SandboxSession.objects.get(task_id=said.conversation.id).close_wanted == CloseWanted.NO
