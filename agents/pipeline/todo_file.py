"""The plan as a file of the conversation's workspace, which programs in the sandbox find in their home folder (S62).

Written beside the work and never before it. Each write is a step, so that a replay does not write again; what it writes
is the list as it is at that moment. That it cannot be written is no reason to fail.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog
from django.db import DatabaseError

from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.pipeline import todo
from agents.pipeline.plans import Plan
from agents.runtime.context import AgentContext
from agents.tools.tool import ToolError
from agents.workspace import OwnFiles

log = structlog.get_logger(__name__)

PATH: Final = ".hyperagent/todo.md"
STEP: Final = "todo_file"
WRITER: Final = "plan"


class TodoFile:
    """Of one plan at work. `states`: the status of each task that has begun or ended, changed as they do."""

    def __init__(self, plan: Plan, states: Mapping[str, str]) -> None:
        self._plan = plan
        self._states = states
        # One at a time, and each writes what is true by then: so the last one stands.
        self._turn = asyncio.Lock()

    async def write(self, context: AgentContext, *, after: str = "") -> None:
        """`after`: the task whose end it tells of; empty where the plan begins."""
        about = context.run.about
        if about.conversation_id is None or about.user_id is None or context.run.lookups is None:
            return

        async def perform() -> Outcome:
            async with self._turn:
                text = todo.checklist(self._plan, self._states)
                try:
                    await OwnFiles().write_file(about, PATH, text, by=WRITER)
                except (ToolError, DatabaseError, OSError) as error:
                    log.warning("todo_file.not_written", execution=str(about.execution_id), error=str(error))
            return Outcome(None)

        await context.step(StepKind.NOTE, STEP, {"after": after}, perform)
