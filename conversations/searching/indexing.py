"""Gives messages the words that they are found by. A question has its words when it was asked, an answer when its run
is over; both are found out from the rows, so that whoever writes a message need not think of it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from conversations.models import Conversation, Message, MessageWords, Role
from conversations.searching.words import lexemes
from conversations.shapes import text_of
from hyperagent.accounts.models import User

AT_ONCE: Final = 200
MOST_BEFORE_A_SEARCH: Final = 400

_WRITE: Final = """
    INSERT INTO conversations_messagewords (message_id, conversation_id, user_id, said_at, words)
    VALUES (%s, %s, %s, %s, array_to_tsvector(%s::text[])) ON CONFLICT (message_id) DO NOTHING
"""


def index_of(user: User) -> int:
    """What this person said or was answered since the last time; so much that a search need not wait long. Gives how
    many there were."""
    return _index(_wordless().filter(conversation__user=user)[:MOST_BEFORE_A_SEARCH])


def index_some() -> int:
    """What nobody's search has come upon yet. Gives how many there were."""
    return _index(_wordless()[:AT_ONCE])


def forget(conversation_id: UUID) -> None:
    """Of a conversation that is deleted: it is to be found no more."""
    MessageWords.objects.filter(conversation=conversation_id).delete()


def _wordless() -> QuerySet[Message]:
    is_said = Q(execution=None) | Q(execution__ended_at__isnull=False)
    told = Conversation.objects.filter(deleted_at=None, is_temporary=False)
    rows = Message.objects.filter(is_said, words_at=None, conversation__in=told).exclude(role=Role.SYSTEM)
    fields = ("id", "role", "text", "created_at", "conversation_id", "conversation__user_id", "execution__answer")
    return rows.select_related("conversation", "execution").only(*fields).order_by()


def _index(messages: Iterable[Message]) -> int:
    """In one transaction: a message has words, or is found to have none again."""
    rows = [_row(message) for message in messages]
    if not rows:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(_WRITE, [row for row in rows if row[4]])
        Message.objects.filter(pk__in=[row[0] for row in rows]).update(words_at=Now())
    return len(rows)


def _row(message: Message) -> tuple[UUID, UUID, UUID, datetime, list[str]]:
    owner = message.conversation.user_id
    return message.id, message.conversation_id, owner, message.created_at, lexemes(text_of(message), owner)
