"""Background jobs of conversations. Each takes ids only, may run twice, and does the same the second time."""

import uuid

from agents.models import Execution
from agents.notices import tell_of_the_end
from conversations import actions, summaries
from conversations.models import Conversation
from hyperagent.lib.queue import task
from memory.models import Memory


@task
def turn_finished(execution_id: str) -> None:
    """After a turn's run has ended: the title that it chose, the time of the last change, a summary if one is due, and
    the news for webhooks."""
    execution = Execution.objects.filter(id=uuid.UUID(execution_id)).defer("input", "answer").first()
    if execution is None or not execution.is_over:
        return
    conversation = _conversation_of(execution)
    if conversation is not None:
        actions.finish_turn(conversation, execution)
        summaries.begin_if_due(conversation, execution)
    tell_of_the_end(execution)
    actions.mark_finish_handled(execution.id)


@task
def summary_finished(execution_id: str) -> None:
    """After the run that told a conversation in short."""
    execution = Execution.objects.filter(id=uuid.UUID(execution_id)).first()
    if execution is None or not execution.is_over:
        return
    summaries.keep(execution)
    actions.mark_finish_handled(execution.id)


@task
def memory_forgotten(memory_id: str) -> None:
    """What was derived of a memory's source goes with it."""
    memory = Memory.objects.filter(id=uuid.UUID(memory_id)).defer("embedding").first()
    if memory is not None:
        summaries.drop_derived(memory)


def _conversation_of(execution: Execution) -> Conversation | None:
    if execution.conversation_id is None:
        return None
    return Conversation.objects.filter(id=execution.conversation_id, deleted_at=None).first()
