"""Runs of which nothing is said any more. That a run was, when, by which agents and tools, how it ended and what it
cost stays; the log of a run goes whole, for its numbers are chained by hashes of the very words.
"""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from agents.engine.chain import GENESIS
from agents.engine.states import INPUT_VERSION
from agents.guardrails.models import Verdict
from agents.models import AgentExecution, Effect, Event, Execution, Intervention, Step
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
    lot = list(Event.objects.filter(execution__in=ids).values_list("pk", flat=True)[:EVENTS_AT_ONCE])
    if lot:
        return Event.objects.filter(pk__in=lot).delete()[0]
    with transaction.atomic():
        Step.objects.filter(agent__execution__in=ids).update(request={}, response=None)
        Effect.objects.filter(execution__in=ids).update(arguments={}, response=None)
        Intervention.objects.filter(execution__in=ids).update(text="")
        Verdict.objects.filter(execution__in=ids).update(excerpt="", reason="")
        AgentExecution.objects.filter(execution__in=ids).update(
            task="", user_comment="", user_content="", output=None, error=""
        )
        return Execution.objects.filter(pk__in=ids).update(
            question="", input=BLANK_INPUT, answer="", result=None, error_message="", last_seq=0, last_hash=GENESIS
        )
