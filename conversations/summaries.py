"""Rolling summaries (S159): every three turns of a branch, a run of its own tells what was said so far. It delays no
turn, and a run that fails leaves the conversation as it was.
"""

import os
import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple

from django.db import transaction
from django.db.models import OuterRef, Q, Subquery

from agents import actions as runs
from agents.engine.states import ExecutionStatus
from agents.models import Execution
from conversations import history
from conversations.models import Conversation, ConversationSummary, Message, Role
from conversations.private import provider_kept
from hyperagent.lib.llm.config import LLMSettings
from memory.models import Memory, MemoryUse

EVERY_TURNS: Final = 3
PIPELINE: Final = "summary"
ON_FINISH: Final = "conversations.tasks.summary_finished"
QUESTION: Final = "A summary of the conversation so far"
_IDS: Final = uuid.UUID("7f3f6a0e-6b0d-4c1f-8a52-3f6f0f6c9d21")


class Due(NamedTuple):
    """What is to be told: the messages since the summary before, which `earlier` tells. `turns`: of all together."""

    messages: list[history.Said]
    earlier: str
    turns: int


def run_of(message_id: uuid.UUID) -> uuid.UUID:
    """The one run that tells a branch up to this message."""
    return uuid.uuid5(_IDS, str(message_id))


def due(branch: Sequence[history.BranchMessage]) -> Due | None:
    """None until three turns were answered since the newest summary. Pure."""
    at = next((place for place in range(len(branch) - 1, -1, -1) if branch[place].summary), None)
    since = branch if at is None else branch[at + 1 :]
    answered = sum(1 for message in since if message.role == Role.ASSISTANT and message.content.strip())
    if answered < EVERY_TURNS:
        return None
    earlier, turns = ("", 0) if at is None else (branch[at].summary, branch[at].turns)
    return Due([message.said for message in since if message.content.strip()], earlier, turns + answered)


def begin_if_due(conversation: Conversation, execution: Execution) -> None:
    """After a turn. Twice is as once."""
    if conversation.is_temporary or execution.status != ExecutionStatus.COMPLETED or not _is_capable():
        return
    with transaction.atomic():
        locked = Conversation.objects.select_for_update(of=("self",)).select_related("user").get(pk=conversation.pk)
        reply = Message.objects.filter(execution=execution, conversation=locked).select_related("parent").first()
        if reply is None:
            return
        branch = history.branch(locked.id, leaf=reply.id)
        told = due(branch)
        if told is None or _is_begun(branch):
            return
        runs.start(
            user=locked.user,
            # Not the conversation's own run: nothing of it is shown there.
            conversation_id=None,
            question=QUESTION,
            history=[dict(said) for said in told.messages],
            options=provider_kept(reply.parent) if reply.parent else {},
            on_finish=ON_FINISH,
            pipeline=PIPELINE,
            execution_id=run_of(reply.id),
            about={"earlier": told.earlier, "upto": str(reply.id), "turns": told.turns},
        )


def _is_begun(branch: Sequence[history.BranchMessage]) -> bool:
    """Whether a run for one of the last turns goes on, or failed: the next is for three turns later."""
    replies = [message.id for message in branch if message.role == Role.ASSISTANT][-EVERY_TURNS:]
    return Execution.objects.filter(id__in=[run_of(reply) for reply in replies]).exists()


def keep(execution: Execution) -> None:
    """Stores what the run told, if the conversation is still there. Not of a run that was to stop, and came to its end
    before it heard: what it tells is to be forgotten."""
    text = execution.answer.strip()
    if execution.status != ExecutionStatus.COMPLETED or not text:
        return
    upto = Message.objects.filter(
        id=execution.input["upto"], conversation__deleted_at=None, conversation__user=execution.user
    ).first()
    if upto is None:
        return
    told = {"conversation_id": upto.conversation_id, "text": text, "turns_covered": execution.input["turns"]}
    with transaction.atomic():
        # Held until it is stored: whoever forgets what it tells (`drop_derived`) comes before or after that.
        run = Execution.objects.select_for_update(no_key=True).only("pk").filter(pk=execution.pk)
        if run.filter(cancel_requested_at=None).first() is not None:
            ConversationSummary.objects.get_or_create(upto=upto, defaults=told)


def drop_derived(memory: Memory) -> None:
    """A memory was forgotten: the summaries that tell what it was made of, or what it was told for, go, and the runs
    that made them. They are made anew with the next turns."""
    replies = [*_replies_since_source(memory), *_replies_since_told(memory)]
    made = Execution.objects.filter(id__in=[run_of(reply) for reply in replies])
    for execution_id in made.live().values_list("id", flat=True):
        runs.cancel(execution_id, by=None)
    made.exclude(id__in=made.live().values("id")).delete()
    ConversationSummary.objects.filter(upto__in=replies).delete()


def _replies_since_source(memory: Memory) -> list[uuid.UUID]:
    """All of the conversation, where the message that it was made of is not known."""
    if memory.source_conversation is None:
        return []
    messages = Message.objects.filter(conversation_id=memory.source_conversation)
    turn = _as_id(memory.source_turn)
    source = messages.filter(id=turn).first() if turn else None
    if source is not None:
        messages = messages.filter(created_at__gte=source.created_at)
    return list(messages.filter(role=Role.ASSISTANT).values_list("id", flat=True))


def _replies_since_told(memory: Memory) -> list[uuid.UUID]:
    """Of each conversation in which it was used, the reply that it was told for, which is older than its use, and those
    that came after."""
    uses = MemoryUse.objects.filter(memory=memory, conversation__isnull=False)
    first = uses.filter(conversation=OuterRef("conversation_id")).order_by("used_at").values("used_at")[:1]
    replies = Message.objects.filter(role=Role.ASSISTANT, conversation__in=uses.values("conversation"))
    since = Q(execution__in=uses.values("execution")) | Q(created_at__gte=Subquery(first))
    return list(replies.filter(since).values_list("id", flat=True))


def _as_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _is_capable() -> bool:
    models = LLMSettings.from_env(os.environ)
    return models.default is not None and not models.bundled_only
