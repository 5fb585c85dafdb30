"""The audit's jobs by the clock. Each is idempotent and takes nothing."""

from django.conf import settings

from hyperagent.audit import outflow, retention
from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import task


@task(every_s=60)
def seal_and_tell() -> None:
    """Gives what was written its place in the log, and tells it outside if that is wanted."""
    outflow.tell(settings.CONFIG.audit_log_stream)


@task(every_s=86_400, lane=Lane.LONG)
def keep_no_longer() -> None:
    """Deletes what is older than AUDIT_RETENTION_DAYS."""
    retention.finish()
    retention.cut_off(
        settings.CONFIG.audit_retention_days,
        destination=outflow.destination_of(settings.CONFIG.audit_log_stream),
    )
