"""Runs of which nothing is said any more. That a run was, when, by which agents and tools, how it ended and what it
cost stays; the log of a run goes whole, for its numbers are chained by hashes of the very words.
"""

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from agents.engine.chain import GENESIS
from agents.engine.states import INPUT_VERSION
from agents.guardrails.models import Verdict
from agents.models import AgentExecution, Effect, Execution, Intervention, Step
from hyperagent.accounts.personal import BLANK, not_blank

EVENTS_AT_ONCE = 5_000
RUNS_AT_ONCE = 50
BLANK_INPUT: dict[str, Any] = {"version": INPUT_VERSION, "history": [], "options": {}, **BLANK}
"""What a run of which nothing is said any more started from."""


def blank_runs(runs: "QuerySet[Execution]") -> int:
    """Some of them at a time; gives how much was done, 0 once all are. That what they started from is blank is the last
    thing that is written of them."""
    runs = runs.order_by("pk")
    # Nearly all have a question, which is quicker to look at.
    ids = list(runs.exclude(question="").values_list("pk", flat=True)[:RUNS_AT_ONCE])
    ids = ids or list(not_blank(runs, "input").values_list("pk", flat=True)[:RUNS_AT_ONCE])
    if not ids:
        return 0
    # A log can be long: it goes by lots of its own.
    if gone := _delete_events(ids):
        return gone
    agents = list(AgentExecution.objects.filter(execution__in=ids).values_list("pk", flat=True))
    with transaction.atomic():
        Step.objects.filter(agent__in=agents).update(request={}, response=None)
        Effect.objects.filter(execution__in=ids).update(arguments={}, response=None)
        Intervention.objects.filter(execution__in=ids).update(text="")
        Verdict.objects.filter(execution__in=ids).update(excerpt="", reason="")
        AgentExecution.objects.filter(execution__in=ids).update(
            task="", user_comment="", user_content="", output=None, error=""
        )
        return Execution.objects.filter(pk__in=ids).update(
            question="",
            task_id="",
            input=BLANK_INPUT,
            answer="",
            result=None,
            error_message="",
            last_seq=0,
            last_hash=GENESIS,
        )


_DELETE = """
DELETE FROM agents_event v USING (
    SELECT execution_id, seq FROM agents_event WHERE execution_id = ANY(%(ids)s) LIMIT %(lot)s
) AS lot
WHERE v.execution_id = ANY(%(ids)s) AND v.execution_id = lot.execution_id AND v.seq = lot.seq
"""


def _delete_events(ids: list[UUID]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, {"ids": ids, "lot": EVENTS_AT_ONCE})
        return int(cursor.rowcount)
