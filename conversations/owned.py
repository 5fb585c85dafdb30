"""What of a conversation a verb works on, found for its owner and locked, and where in it a question belongs."""

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Execution
from conversations import history
from conversations.models import Conversation, Message, Role
from hyperagent.accounts.models import User
from hyperagent.lib import rows
from hyperagent.lib.refusals import NotThere, Refused

# As `Conversation.objects.of(user)`. In SQL: to put these together takes Django longer than to run them, and
# people wait for it.
_OWN = f"""
    SELECT {rows.columns(Conversation, "c")} FROM conversations_conversation c
     WHERE id = %(id)s AND user_id = %(user)s AND deleted_at IS NULL FOR UPDATE
"""
_SAID = "SELECT id FROM conversations_message WHERE conversation_id = %(conversation)s AND client_id = %(client)s"
# In the newest conversations of a day only: each is one look into an index, and keys are made for trying again soon.
_USED_ELSEWHERE = """
    SELECT 1 FROM (
        SELECT id FROM conversations_conversation
         WHERE user_id = %(user)s AND deleted_at IS NULL AND updated_at > now() - interval '1 day'
         ORDER BY updated_at DESC, id DESC LIMIT 1000
    ) c JOIN conversations_message m ON m.conversation_id = c.id AND m.client_id = %(client)s AND m.client_id <> ''
     WHERE c.id <> ALL(%(conversations)s::uuid[]) LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Said:
    """A question, the reply that will answer it, and the run that works on it. `repeated`: it had been said before."""

    conversation: Conversation
    message: Message
    reply: Message
    execution: Execution
    repeated: bool = False


def own(user: User, conversation_id: uuid.UUID) -> Conversation:
    """Locked: of two questions at once the second sees the first. Raises NotThere for what is not this user's."""
    return owning(user, conversation_id)()


def owning(user: User, conversation_id: uuid.UUID) -> Callable[[], Conversation]:
    """The same in two halves, for who has more to ask of the database meanwhile (`rows.together`)."""
    asked = rows.execute(_OWN, {"id": conversation_id, "user": user.pk})

    def owned() -> Conversation:
        found = asked.fetchone()
        if found is None:
            raise NotThere
        conversation: Conversation = next(rows.read(found, Conversation))
        return conversation

    return owned


def branch_before(
    conversation: Conversation, *, edits: uuid.UUID | None, after: uuid.UUID | None
) -> list[history.BranchMessage]:
    """What stands before a new question. Raises NotThere for a place that is not in the conversation."""
    named = edits or after
    if named is None:
        return history.branch(conversation.id)
    place = Message.objects.filter(conversation=conversation, id=named).first()
    if place is None:
        raise NotThere
    if edits is None:
        return history.branch(conversation.id, leaf=place.id)
    if place.role != Role.USER:
        raise Refused(
            "not_a_question", _("Only a question can be edited. Ask again, or say what is wrong with the answer.")
        )
    return history.branch(conversation.id, leaf=place.parent_id) if place.parent_id else []


def own_message(user: User, message_id: uuid.UUID) -> Message:
    """With the message that it follows. Raises NotThere for what is not this user's."""
    messages = Message.objects.select_related("parent")
    found = messages.filter(id=message_id, conversation__user=user, conversation__deleted_at=None).first()
    if found is None:
        raise NotThere
    return found


def said_under(conversation_id: uuid.UUID, client_id: str) -> Callable[[Conversation], Said | None]:
    """What was said under this id, in two halves as `owning`."""
    asked = rows.execute(_SAID, {"conversation": conversation_id, "client": client_id}) if client_id else None

    def said_before(conversation: Conversation) -> Said | None:
        row = asked.fetchone() if asked is not None else None
        if row is None:
            return None
        message = Message.objects.get(id=row[0])
        reply = (
            Message.objects.select_related("execution")
            .filter(parent=message, execution__isnull=False)
            .earliest("created_at")
        )
        assert reply.execution is not None
        return Said(conversation, message, reply, reply.execution, repeated=True)

    return said_before


def is_used_elsewhere(user: User, client_id: str, conversation_ids: Collection[uuid.UUID]) -> bool:
    """Whether this user lately said something under this id in another conversation than these. One query."""
    which = {"user": user.pk, "client": client_id, "conversations": list(conversation_ids)}
    return rows.execute(_USED_ELSEWHERE, which).fetchone() is not None


def own_run(user: User, execution_id: uuid.UUID, agent_id: uuid.UUID | None) -> Execution:
    """Without its long parts. Raises NotThere for what is not this user's, and for an agent that is not the run's."""
    found = Execution.objects.of(user).defer("input", "result").filter(id=execution_id).first()
    if found is None or (agent_id is not None and not found.agents.filter(id=agent_id).exists()):
        raise NotThere
    return found
