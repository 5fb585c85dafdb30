"""Background jobs of conversations. Each takes ids only, may run twice, and does the same the second time."""

import uuid
from collections.abc import Callable

from agents.models import Execution
from agents.notices import tell_of_the_end
from conversations import actions, afterwards, follow_ups, retention, summaries
from conversations.models import Conversation
from conversations.schedules import starting as schedules
from conversations.schedules import tasks as schedule_tasks  # noqa: F401 - so that the queue knows them
from conversations.searching import indexing
from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import task
from memory.models import Memory

ROUNDS = 25
"""Of 200 messages each: an installation with a past is through with it in hours, and others wait for seconds."""


@task
def turn_finished(execution_id: str) -> None:
    """After a turn's run has ended: the title that it chose, the time of the last change, what it left behind, a
    summary if one is due, what may be asked next, and the news for webhooks."""
    execution = Execution.objects.filter(id=uuid.UUID(execution_id)).defer("input", "answer").first()
    if execution is None or not execution.is_over:
        return
    conversation = _conversation_of(execution)
    if conversation is not None:
        actions.finish_turn(conversation, execution)
        if conversation.user.is_active:
            afterwards.ask_what_was_not_heard(conversation, execution)
            afterwards.begin_if_left(conversation, execution)
            summaries.begin_if_due(conversation, execution)
            follow_ups.begin_if_wanted(conversation, execution)
    tell_of_the_end(execution)
    schedules.ended(execution)
    actions.mark_finish_handled(execution.id)


@task
def summary_finished(execution_id: str) -> None:
    """After the run that told a conversation in short."""
    _handle(execution_id, summaries.keep)


@task
def afterwards_finished(execution_id: str) -> None:
    """After the run that did what a turn had left behind."""
    _handle(execution_id, afterwards.finish)


@task
def follow_ups_finished(execution_id: str) -> None:
    """After the run that thought about what may be asked next."""
    _handle(execution_id, follow_ups.keep)


@task
def clear(conversation_id: str) -> None:
    """After a conversation was deleted."""
    actions.clear(uuid.UUID(conversation_id))


@task(every_s=120, lane=Lane.LONG)
def index_messages() -> None:
    """Gives the words that they are found by to messages that no search has come upon yet."""
    for _ in range(ROUNDS):
        if not indexing.index_some():
            return


@task
def memory_forgotten(memory_id: str) -> None:
    """What was derived of a memory's source goes with it."""
    memory = Memory.objects.filter(id=uuid.UUID(memory_id)).defer("embedding").first()
    if memory is not None:
        summaries.drop_derived(memory)


def _handle(execution_id: str, keep: Callable[[Execution], None]) -> None:
    """What a run beside a conversation found is kept, once it is over."""
    execution = Execution.objects.filter(id=uuid.UUID(execution_id)).first()
    if execution is None or not execution.is_over:
        return
    keep(execution)
    actions.mark_finish_handled(execution.id)


def _conversation_of(execution: Execution) -> Conversation | None:
    if execution.conversation_id is None:
        return None
    rows = Conversation.objects.filter(id=execution.conversation_id, deleted_at=None)
    return rows.select_related("user").first()


@task(every_s=3600, lane=Lane.LONG)
def keep_no_longer() -> None:
    """Deletes conversations whose time is over, and erases what was said in those that were deleted long ago."""
    retention.keep_no_longer()
