"""What a turn left behind, and is done when its answer stands: its title and what it says of its person, where those
took longer, and what a person said when no agent listened any more. No turn waits for it.
"""

import uuid
from typing import Final

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from agents import actions as runs
from agents.craft.unheard import unheard
from agents.engine.states import ExecutionStatus
from agents.models import Execution
from conversations import actions
from conversations.models import Conversation, Message
from conversations.options import without
from hyperagent.lib.announcing import publish
from hyperagent.lib.languages import speaking
from hyperagent.lib.refusals import NotThere, Refused

log = structlog.get_logger(__name__)

PIPELINE: Final = "afterwards"
ON_FINISH: Final = "conversations.tasks.afterwards_finished"
QUESTION: Final = "What was not ready when an answer was"
UNASKED: Final = "unasked"
"""In the reply's metadata."""
_IDS: Final = uuid.UUID("c1a7b7e4-55d1-4c8e-9f0e-2f7b7b1a8d33")


def run_of(execution_id: uuid.UUID) -> uuid.UUID:
    """The one run that does what this turn left behind."""
    return uuid.uuid5(_IDS, str(execution_id))


def begin_if_left(conversation: Conversation, execution: Execution) -> None:
    """After a turn that was answered before all of it was ready. Twice is as once."""
    left = (execution.result or {}).get("left")
    if execution.status != ExecutionStatus.COMPLETED or not left:
        return
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)
        if Execution.objects.filter(id=run_of(execution.id)).exists():
            return
        asked = Execution.objects.only("input").get(id=execution.id)
        runs.start(
            user=conversation.user,
            # Not the conversation's own run: nothing of it is shown there.
            conversation_id=None,
            question=QUESTION,
            options=asked.input["options"],
            on_finish=ON_FINISH,
            pipeline=PIPELINE,
            execution_id=run_of(execution.id),
            about=left,
        )


def finish(execution: Execution) -> None:
    """After that run: the conversation has its title, if nobody gave it another."""
    conversation_id = execution.input["origin"]["conversation"]
    rows = Conversation.objects.filter(id=conversation_id, deleted_at=None, user=execution.user)
    conversation = rows.first() if conversation_id else None
    if conversation is not None:
        actions.title_by_run(conversation, execution)


def ask_what_was_not_heard(conversation: Conversation, execution: Execution) -> None:
    """What a person added to an answer when it was all but written is the next question. Twice is as once. Where it is
    refused, or there is no answer that it could follow, the reply keeps the words and the reason, and the person is
    told."""
    said = unheard(execution.id)
    reply = Message.objects.filter(execution=execution, conversation=conversation).select_related("parent").first()
    if not said or reply is None or reply.parent is None or UNASKED in reply.metadata:
        return
    words = "\n\n".join(said)
    if execution.status != ExecutionStatus.COMPLETED:
        with speaking(conversation.user.spoken):
            _keep_unasked(reply.id, text=words, why=_not_answered(execution))
        return
    try:
        with speaking(conversation.user.spoken):
            question = actions.Question(
                words,
                mode=reply.parent.mode,
                options=without(reply.parent.metadata.get("options", {}), "attachment_ids"),
                client_id=f"unheard-{execution.id}",
            )
            actions.say(conversation.user, conversation.id, question, after=reply.id)
    except NotThere:
        return  # The conversation was deleted meanwhile.
    except Refused as refusal:
        log.warning("steering.not_asked", execution_id=str(execution.id), why=refusal.code)
        _keep_unasked(reply.id, text=words, why=refusal.message)


def _not_answered(execution: Execution) -> str:
    if execution.status == ExecutionStatus.CANCELLED:
        return _("The answer was stopped before any agent had read it.")
    return _("The answer failed before any agent had read it.")


def _keep_unasked(reply_id: uuid.UUID, *, text: str, why: str) -> None:
    with transaction.atomic():
        reply = Message.objects.select_for_update(of=("self",)).select_related("conversation").get(pk=reply_id)
        reply.metadata = {**reply.metadata, UNASKED: {"text": text, "why": why}}
        reply.save(update_fields=["metadata"])
        group = reply.conversation.group_name
        told = {"type": "conversation.unasked", "message_id": str(reply.id), "unasked": reply.metadata[UNASKED]}
        transaction.on_commit(lambda: publish(group, told))
