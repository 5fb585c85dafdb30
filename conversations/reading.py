"""Reading conversations: lists, messages, the export. Writes nothing."""

import uuid
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from agents.engine.states import TERMINAL_STATUSES
from agents.models import Execution
from agents.reading import log_end
from conversations.models import Conversation, Message, Role
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
    """The newest MAX_MESSAGES, oldest first, each with its run. One query."""
    rows = _with_runs(Message.objects.filter(conversation=conversation)).order_by("-created_at", "-id")
    return [message_shape(message) for message in reversed(rows[:MAX_MESSAGES])]


def _with_runs(messages: QuerySet[Message]) -> QuerySet[Message]:
    rows = messages.select_related("execution").defer("execution__input", "execution__question")
    return rows.annotate(log_end=log_end("execution__"))


def as_markdown(conversation: Conversation) -> str:
    """The branch that is shown: under each message its newest answer. Two queries."""
    parts = [f"# {conversation.title or 'Conversation'}", f"*{conversation.created_at:%Y-%m-%d %H:%M} UTC*"]
    for message in _shown_branch(conversation):
        who = "You" if message.role == Role.USER else message.role.capitalize()
        shape = message_shape(message)
        parts += [f"## {who}", shape["text"] or "*(no answer)*"]
        if shape["sources"]:
            parts.append("\n".join(f"{number}. {_source_line(one)}" for number, one in enumerate(shape["sources"], 1)))
    return "\n\n".join(parts) + "\n"


def _shown_branch(conversation: Conversation) -> list[Message]:
    newest_under: dict[uuid.UUID | None, Message] = {}
    for message in _with_runs(Message.objects.filter(conversation=conversation)).order_by("created_at", "id"):
        newest_under[message.parent_id] = message
    branch: list[Message] = []
    message_id: uuid.UUID | None = None
    while message_id in newest_under:
        branch.append(newest_under[message_id])
        message_id = branch[-1].id
    return branch


def _source_line(source: dict[str, Any]) -> str:
    details = [str(source[name]) for name in ("section", "page", "url") if source.get(name)]
    return ", ".join([str(source.get("source", "")), *details])
