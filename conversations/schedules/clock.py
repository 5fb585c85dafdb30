"""When the next time of any schedule comes, and what is done then: for the runners, who keep time to the second. The
job of `tasks` does the same each minute, where no runner lives.
"""

import logging
from typing import Final

from django.db import DatabaseError

from conversations.schedules import starting
from conversations.schedules.models import Schedule
from hyperagent.lib.clocks import Clock

log = logging.getLogger(__name__)

_NEXT_DUE: Final = """
SELECT extract(epoch FROM min(next_due_at) - clock_timestamp())::float8
FROM conversations_schedule WHERE next_due_at IS NOT NULL
"""


def start_due() -> int:
    """How many times were taken here. One that fails holds up no other; the next look tries it again."""
    taken = 0
    failed: Exception | None = None
    for schedule_id in starting.due_ids():
        try:
            taken += starting.start_due(schedule_id) is not None
        except DatabaseError:
            raise
        except Exception as error:
            log.exception("schedule %s could not be looked at", schedule_id)
            failed = error
    if failed is not None and not taken:
        raise failed
    return taken


def pass_over_due() -> None:
    """What `starting.pass_over` does, for all whose time has come. One that fails cannot be asked either."""
    for schedule_id in Schedule.objects.due().values_list("pk", flat=True):
        try:
            starting.pass_over(schedule_id)
        except DatabaseError:
            raise
        except Exception:
            log.exception("schedule %s could not be looked at", schedule_id)


CLOCK: Final = Clock("schedules", _NEXT_DUE, start_due)
