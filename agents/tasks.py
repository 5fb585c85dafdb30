"""Background jobs about runs. Each is a hint and idempotent: the execution's row is the truth."""

import logging
import uuid
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.utils import timezone

from agents import describing
from agents.log import folding, log_retention, partitions
from agents.models import Execution
from agents.sandbox import snapshots
from agents.usage import alerts, purses
from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import UnknownTask, enqueue, task

log = logging.getLogger(__name__)

LATE_S = 60
AT_ONCE = 200


@task(every_s=60)
def sweep_finished() -> None:
    """Finds runs that ended and whose follow-up was lost on its way, and asks for it again."""
    late = Now() - timedelta(seconds=LATE_S)
    unhandled = Execution.objects.filter(ended_at__lt=late, finish_handled_at=None).exclude(on_finish="")
    # Any of them: so many that fail each time, oldest first, would keep all others from their turn.
    for execution in unhandled.only("id", "on_finish").order_by("?")[:AT_ONCE]:
        try:
            enqueue(execution.on_finish, execution.id)
        except UnknownTask as error:
            log.error("the follow-up of run %s cannot be done: %s", execution.id, error)


@task(every_s=60)
def tell_of_budgets() -> None:
    """Gives back what calls of dead workers had reserved, and tells whoever it concerns how far budgets are used."""
    if purses.holds_for_anybody():
        purses.tidy()
        alerts.tell_of_thresholds()


@task(every_s=600)
def recount_budgets() -> None:
    """What the ledger has and was lost on its way into the budgets."""
    if purses.holds_for_anybody():
        purses.recount_all()


@task(every_s=300, lane=Lane.LONG)
def fold_logs() -> None:
    """Makes the logs of ended runs small."""
    folding.fold_ended()


@task(every_s=86_400)
def keep_logs() -> None:
    """Makes the months of the event log ahead, and drops those that are kept no longer."""
    try:
        partitions.make_months(timezone.now())
    except partitions.Busy:
        log.warning("the tables of the event log were in use: its months are made tomorrow")
    log_retention.keep_no_longer()


@task(every_s=600, lane=Lane.LONG)
def sweep_snapshots() -> None:
    """Forgets what was kept of sandboxes for its hours, and what belonged to people who are gone."""
    snapshots.sweep(retention_hours=settings.CONFIG.snapshot_retention_hours)


@task(lane=Lane.MANY)
def describe_document(document_id: str) -> None:
    """Has a model say what a document is about, once its text is indexed."""
    describing.begin(uuid.UUID(document_id))


@task(lane=Lane.MANY)
def document_described(execution_id: str) -> None:
    """After the run that described a document."""
    execution = Execution.objects.filter(id=uuid.UUID(execution_id)).first()
    if execution is None or not execution.is_over:
        return
    describing.keep(execution)
    Execution.objects.filter(id=execution.id, finish_handled_at=None).update(finish_handled_at=Now())
