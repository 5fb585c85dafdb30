"""`manage.py sandboxes`: holds the boxes of this machine. `manage.py worker` starts one on each machine."""

import asyncio
import signal
from typing import Any

from django.core.management.base import BaseCommand

from agents.sandbox.chosen import provider_of, terms_of
from agents.sandbox.host.address import folder_of
from agents.sandbox.host.process import Host
from hyperagent.settings import CONFIG


class Command(BaseCommand):
    help = "Holds the sandboxes of this machine, and serves those who use them, until SIGTERM."
    # They load every page's code, 50 MB that this process does not need.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        asyncio.run(hold())


async def hold() -> None:
    host = Host(provider_of(CONFIG), folder_of(CONFIG.data_path), terms=terms_of(CONFIG))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, host.stop)
    await host.run()
