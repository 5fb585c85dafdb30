"""The clock of schedules. Jobs are hints and idempotent: the schedule's row is the truth."""

from uuid import UUID

from conversations.schedules import starting
from hyperagent.lib.queue import enqueue, task


@task
def start(schedule_id: str) -> None:
    """Asks the question of this schedule, unless it is not due or somebody else does."""
    starting.start_due(UUID(schedule_id))


@task(every_s=60)
def start_due() -> None:
    """A job for each whose time has come: one that fails holds up no other."""
    for schedule_id in starting.due_ids():
        enqueue("conversations.schedules.tasks.start", schedule_id)
