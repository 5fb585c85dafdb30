"""Follow-up questions of an answer: made by a run of its own after the turn, kept with the reply, and told to whoever
looks at the conversation. No turn waits for them, and a run that fails leaves the answer as it was.
"""

import os
import uuid
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from agents import actions as runs
from agents.engine.states import ExecutionStatus
from agents.models import Execution
from conversations import history
from conversations.models import Conversation, Message
from conversations.private import provider_kept
from hyperagent.lib.announcing import publish
from hyperagent.lib.conf import Switch
from hyperagent.lib.llm.config import LLMSettings

PIPELINE: Final = "follow_ups"
ON_FINISH: Final = "conversations.tasks.follow_ups_finished"
QUESTION: Final = "What may be asked next"
KEY: Final = "follow_ups"
"""In the reply's metadata."""
TOLD_MESSAGES: Final = 6
_IDS: Final = uuid.UUID("0d9d8f0c-3d6e-4d0a-9a5f-6a1c2f6e7b10")


def run_of(reply_id: uuid.UUID) -> uuid.UUID:
    """The one run that thinks about this reply."""
    return uuid.uuid5(_IDS, str(reply_id))


def begin_if_wanted(conversation: Conversation, execution: Execution) -> None:
    """After a turn that was answered, if it is still the newest of its conversation. Twice is as once."""
    if execution.status != ExecutionStatus.COMPLETED or not is_on():
        return
    with transaction.atomic():
        locked = Conversation.objects.select_for_update(of=("self",)).select_related("user").get(pk=conversation.pk)
        branch = history.branch(locked.id)
        reply = Message.objects.filter(execution=execution, conversation=locked).select_related("parent").first()
        if reply is None or reply.parent is None or not branch or branch[-1].id != reply.id:
            return
        if not branch[-1].content.strip() or Execution.objects.filter(id=run_of(reply.id)).exists():
            return
        runs.start(
            user=locked.user,
            # Not the conversation's own run: nothing of it is shown there.
            conversation_id=None,
            question=QUESTION,
            history=[dict(message.said) for message in branch[:-2][-TOLD_MESSAGES:]],
            options=provider_kept(reply.parent),
            on_finish=ON_FINISH,
            pipeline=PIPELINE,
            execution_id=run_of(reply.id),
            about={"asked": reply.parent.text, "answered": branch[-1].content, "reply": str(reply.id)},
        )


def keep(execution: Execution) -> None:
    """Stores what the run found with the reply, if that is still there, and tells the conversation."""
    questions = (execution.result or {}).get("questions") or []
    if execution.status != ExecutionStatus.COMPLETED or not questions:
        return
    with transaction.atomic():
        replies = Message.objects.select_for_update(of=("self",)).select_related("conversation")
        reply = replies.filter(
            id=execution.input["reply"], conversation__deleted_at=None, conversation__user=execution.user
        ).first()
        if reply is None:
            return
        reply.metadata = {**reply.metadata, KEY: questions}
        reply.save(update_fields=["metadata"])
        group, told = reply.conversation.group_name, announcement(reply)
        transaction.on_commit(lambda: publish(group, told))


def announcement(reply: Message) -> dict[str, Any]:
    return {"type": "conversation.follow_ups", "message_id": str(reply.id), "questions": reply.metadata.get(KEY, [])}


def is_on() -> bool:
    """Only where a cheaper model than the answering one is there for it, as with titles."""
    return settings.CONFIG.follow_ups is Switch.ON and LLMSettings.from_env(os.environ).has_cheaper
