"""Background jobs about requests. Each may be lost or come twice: the rows are the truth."""

from hitl import actions
from hyperagent.lib.queue import task


@task(every_s=60)
def end_overdue() -> None:
    """Requests that nobody answered in time end, and their runs go on without an answer."""
    actions.end_overdue()
