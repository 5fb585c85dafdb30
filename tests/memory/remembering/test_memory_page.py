"""The page of memories: where it says that one comes from. What a browser does with it: tests/page/test_memories.py."""

import uuid
from typing import Any

import pytest
from django.test import Client

from conversations import actions
from conversations.models import Message
from memory.models import MemoryUse
from tests.memory.remembering.knowing import known


def page_of(user: Any) -> str:
    client = Client()
    client.force_login(user)
    answer = client.get("/memory/")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.django_db
@pytest.mark.spec("B18")
def test_a_memory_leads_to_the_message_that_it_was_made_of(alice: Any) -> None:
    talk = actions.create(alice, title="Teams")
    said = Message.objects.create(conversation=talk, role="user", text="I lead the sales team.")
    memory = known(
        alice, "Head of sales", source_conversation=talk.pk, source_turn=str(said.pk), source_excerpt="I lead"
    )
    known(alice, "Lives in Graz", source_conversation=talk.pk, source_turn="one of ours")
    MemoryUse.objects.create(memory=memory, execution=uuid.uuid4(), conversation=talk.pk, why="It fits.")

    shown = page_of(alice)

    assert f'href="/c/{talk.pk}/#m-{said.pk}"' in shown
    assert shown.count(f'href="/c/{talk.pk}/"') == 2


@pytest.mark.django_db
@pytest.mark.spec("B18")
def test_no_memory_leads_to_a_conversation_that_its_reader_cannot_open(alice: Any, bob: Any) -> None:
    gone, of_bob = actions.create(alice, title="Teams"), actions.create(bob, title="His")
    memory = known(alice, "Head of sales", source_conversation=gone.pk, source_turn=str(uuid.uuid4()))
    known(alice, "Lives in Graz", source_conversation=of_bob.pk)
    MemoryUse.objects.create(memory=memory, execution=uuid.uuid4(), conversation=gone.pk, why="It fits.")
    actions.delete(alice, gone.pk)

    shown = page_of(alice)

    assert "Head of sales" in shown
    assert "It fits." in shown
    assert str(gone.pk) not in shown
    assert str(of_bob.pk) not in shown
