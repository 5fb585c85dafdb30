"""A runner as the product's, with a program that asks for an approval: `python -m tests.hitl.runner --name N`."""

import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

from django.core.management import call_command  # noqa: E402

from agents.pipeline import programs  # noqa: E402
from agents.runtime.context import AgentContext  # noqa: E402
from tests.hitl.asking import mail_question  # noqa: E402


async def approves(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Waits for a yes between two notes."""
    began = await context.now()
    answer = await context.ask("approval", mail_question())
    assert began
    told = answer["arguments_hash"] if answer["status"] == "approved" else answer["decided_by"]
    return {"answer": f"{answer['status']} {told}", "sources": []}


if __name__ == "__main__":
    programs.ROOTS.update(approves=approves)
    call_command("runner", *sys.argv[1:])
