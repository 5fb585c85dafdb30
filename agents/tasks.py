"""Background jobs about runs. Each is a hint and idempotent: the execution's row is the truth."""

import logging
from datetime import timedelta

from django.utils import timezone

from agents import folding
from agents.models import Execution
from hyperagent.lib.queue import UnknownTask, enqueue, task

log = logging.getLogger(__name__)

LATE_S = 60
AT_ONCE = 200


@task(every_s=60)
def sweep_finished() -> None:
    """Finds runs that ended and whose follow-up was lost on its way, and asks for it again."""
    late = timezone.now() - timedelta(seconds=LATE_S)
    unhandled = Execution.objects.filter(ended_at__lt=late, finish_handled_at=None).exclude(on_finish="")
    for execution in unhandled.order_by("ended_at")[:AT_ONCE]:
        try:
            enqueue(execution.on_finish, execution.id)
        except UnknownTask as error:
            log.error("the follow-up of run %s cannot be done: %s", execution.id, error)


@task(every_s=300)
def fold_logs() -> None:
    """Makes the logs of ended runs small."""
    folding.fold_ended()
