"""`manage.py jobs`: this machine's one cluster of background jobs. `manage.py worker` starts it and watches it."""

import os
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from hyperagent.lib.queue import run_cluster
from hyperagent.lib.yielding import yield_to_others

# A tenth of what a question gets where both want all of it.
_NICE: Final = 10


class Command(BaseCommand):
    help = "Runs the background jobs (not the agents' runs) until SIGTERM. Started by `manage.py worker`."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        yield_to_others(_NICE)
        os.nice(_NICE)
        try:
            run_cluster()
        except OperationalError as error:
            why = str(error).split("\n")[0]
            raise CommandError(f"The jobs cannot begin, for the database is away: {why}. Start them again.") from None
