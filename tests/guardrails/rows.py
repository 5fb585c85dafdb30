"""What a run in memory has kept of verdicts."""

from typing import Any

from agents.runtime.outbox import Flagged
from tests.tools.driving import ToolCase


def rows_of(case: ToolCase) -> list[Flagged]:
    history: list[Any] = [*case.store.history(case.execution_id)]
    return [record for record in history if isinstance(record, Flagged)]
