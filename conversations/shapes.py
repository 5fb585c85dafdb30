"""How conversations and messages look to browsers and programs: one shape for the API, the socket and the export."""

from typing import Any

from agents.log.shapes import checks_of, reply_summary, sources_of
from conversations.models import Conversation, Message, Role
from hyperagent.lib.times import iso

Json = dict[str, Any]


def said(message: Message | None, reply: Message) -> Json:
    """An announcement: a question was asked (None: asked again), and this is the reply that will answer it."""
    return {
        "type": "conversation.said",
        "message": message_shape(message) if message else None,
        "reply": message_shape(reply),
        "client_id": message.client_id or None if message else None,
    }


def changed(conversation: Conversation) -> Json:
    """An announcement: its title or its place is another now."""
    return {"type": "conversation.changed", "conversation": conversation_frame(conversation)}


def conversation_frame(conversation: Conversation) -> Json:
    return {
        "id": str(conversation.id),
        "title": conversation.title,
        "updated_at": iso(conversation.updated_at),
        "is_temporary": conversation.is_temporary,
        "pinned_at": iso(conversation.pinned_at),
    }


def text_of(message: Message) -> str:
    """An answer's stands in its run. Needs the execution loaded with it."""
    is_answer = message.role == Role.ASSISTANT and message.execution is not None
    return message.execution.answer if is_answer and message.execution else message.text


def message_shape(message: Message) -> Json:
    """Needs the execution loaded with it: no query of its own."""
    execution = message.execution
    if execution is not None and hasattr(message, "log_end"):
        execution.log_end = message.log_end  # type: ignore[attr-defined]
    return {
        "id": str(message.id),
        "parent_id": str(message.parent_id) if message.parent_id else None,
        "role": message.role,
        "text": text_of(message),
        "created_at": iso(message.created_at),
        "mode": message.mode or None,
        "client_id": message.client_id or None,
        "attachments": message.metadata.get("attachments", []),
        "follow_ups": message.metadata.get("follow_ups", []),
        "unasked": message.metadata.get("unasked"),
        "execution": reply_summary(execution) if execution else None,
        "sources": sources_of(execution) if execution else [],
        "checks": checks_of(execution) if execution else [],
    }
