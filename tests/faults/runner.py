"""A runner as the product's, with programs that break things: `python -m tests.faults.runner --name N`."""

import os
import signal
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from agents.pipeline import programs  # noqa: E402
from agents.runtime.context import AgentContext  # noqa: E402


async def poison(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Kills its process, as one does that takes all memory."""
    await context.now()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


async def asks(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Waits for a person between two notes."""
    await context.now()
    answer = await context.ask("input", {"question": turn["question"]})
    return {"answer": f"They said {answer['text']}", "sources": []}


if __name__ == "__main__":
    programs.ROOTS.update(poison=poison, asks=asks)
    call_command("runner", *sys.argv[1:])
