"""Reading conversations: lists and messages. Writes nothing."""

import uuid
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.engine.states import TERMINAL_STATUSES
from agents.log.agent_reading import runs_with_usage
from agents.log.reading import log_end
from agents.models import Execution
from conversations.models import Conversation, Message
from conversations.shapes import message_shape
from hyperagent.accounts.models import User
from hyperagent.lib.api import own_or_404
from memory.models import Project

# More than anybody reads at once; what is older is in the export.
MAX_MESSAGES = 2000


def conversations_of(user: User) -> QuerySet[Conversation]:
    live = Execution.objects.exclude(status__in=TERMINAL_STATUSES).filter(conversation_id=OuterRef("pk"))
    in_project = Exists(Project.objects.seen_by(user).filter(pk=OuterRef("project")))
    return Conversation.objects.of(user).select_related("project").annotate(running=Exists(live), in_project=in_project)


def own_conversation(user: User, conversation_id: uuid.UUID) -> Conversation:
    """Raises NotThere."""
    return own_or_404(conversations_of(user), id=conversation_id)


def messages_of(conversation: Conversation) -> list[dict[str, Any]]:
    """The newest MAX_MESSAGES, oldest first, each with its run. One query, or two while one goes on."""
    return page_of(conversation, limit=MAX_MESSAGES)[0]


def page_of(
    conversation: Conversation, *, limit: int, before: uuid.UUID | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """The newest `limit` messages, oldest first, of those that were said before the one named; and whether there are
    earlier ones. Of all branches: the newest message is always the end of the one that is shown. One query, one more
    where a message is named, and one where a run of theirs goes on.

    Raises NotThere if that message is not of this conversation.
    """
    messages = Message.objects.filter(conversation=conversation)
    if before is not None:
        place = own_or_404(messages, id=before)
        messages = messages.filter(Q(created_at__lt=place.created_at) | Q(created_at=place.created_at, id__lt=place.id))
    rows = list(with_runs(messages).order_by("-created_at", "-id")[: limit + 1])
    runs_with_usage(row.execution for row in rows if row.execution is not None)
    return [message_shape(message) for message in reversed(rows[:limit])], len(rows) > limit


def with_runs(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Each with its run, and no query more."""
    rows = messages.select_related("execution").defer("execution__input", "execution__question")
    return rows.annotate(log_end=log_end("execution__"))
