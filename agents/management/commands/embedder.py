"""`manage.py embedder`: makes the vectors of this installation. `manage.py worker` starts one on each machine."""

import os
import signal
from typing import Any

from django.core.management.base import BaseCommand

from agents.usage.embedding import Till
from hyperagent.lib.llm.config import LLMSettings
from memory.embedding.process import Embedder


class Command(BaseCommand):
    help = "Makes vectors of documents and memories, and answers searches that need one, until SIGTERM."
    # They load every page's code, 50 MB that this process does not need.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        embedder = Embedder(LLMSettings.from_env(os.environ).embedding_model, till=Till())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: embedder.stop())
        embedder.run()
