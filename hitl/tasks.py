"""Background jobs about requests. Each may be lost or come twice: the rows are the truth."""

from hitl import sweeping
from hyperagent.lib.queue import task


@task(every_s=60)
def end_overdue() -> None:
    """What runners do to the second, for the time in which none lives: ends, reminders, news of new requests."""
    sweeping.expire_stale_hitl_requests()
    sweeping.sweep()
