"""`manage.py jobs`: this machine's one cluster of background jobs. `manage.py worker` starts it and watches it."""

from typing import Any

from django.core.management.base import BaseCommand

from hyperagent.lib.queue import run_cluster


class Command(BaseCommand):
    help = "Runs the background jobs (not the agents' runs) until SIGTERM. Started by `manage.py worker`."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        run_cluster()
