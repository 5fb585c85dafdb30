"""Background jobs about requests. Each may be lost or come twice: the rows are the truth."""

from hitl import stranded, sweeping
from hitl.ending import end_orphaned
from hyperagent.lib.queue import task


@task(every_s=60)
def end_overdue() -> None:
    """What runners do to the second, for the time in which none lives: ends, reminders, news of new requests. And what
    nobody can decide any more."""
    end_orphaned()
    stranded.hand_on()
    if sweeping.is_anything_due():
        sweeping.sweep()
