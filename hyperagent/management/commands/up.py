"""`manage.py up`: everything on this machine, with one command; Ctrl-C stops all of it."""

import argparse
import asyncio
import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agents.registry import agents
from hyperagent.embedded import installation, instance
from hyperagent.lib.conf import number_as
from hyperagent.lib.llm import LLMSettings
from hyperagent.settings import CONFIG


class Command(BaseCommand):
    help = "Starts the embedded servers, the web server and the workers, and keeps them alive until Ctrl-C or SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=_port, default=CONFIG.port, help="on 127.0.0.1 (default: PORT or 8000)")
        runners = number_as("RUNNERS")
        parser.add_argument(
            "--runners", type=runners, default=CONFIG.runners, help="runner processes (default: RUNNERS)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Only who knows the roster can tell an agent's variable from another program's.
        if faults := LLMSettings.from_env(os.environ).faults_of_agents(agents()):
            self.stderr.write("\n".join(map(str, faults)))
            sys.exit(2)
        try:
            data_dir = instance.make_data_dir(CONFIG.data_path)
            held = instance.lock(data_dir)
            instance.claim_port(options["port"])
        except instance.BadDataDir as refusal:
            self.stderr.write(str(refusal))
            sys.exit(2)
        except (instance.AlreadyRunning, instance.PortInUse) as refusal:
            self.stderr.write(str(refusal))
            sys.exit(1)
        plan = installation.Plan(data_dir, options["port"], options["runners"], dict(os.environ))
        try:
            status = asyncio.run(installation.run(plan, CONFIG))
        finally:
            os.close(held)
        sys.exit(status)


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 1 to 65535")
    return int(text)
