"""A run's plan and route as its event log tells them: what people see of a run that goes on, or that never finished."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from agents.models import Event

Json = dict[str, Any]
_ROUTING = ("agent", "reason", "confidence", "is_low_confidence", "method", "alternatives")
_OVERVIEW = ("intent", "entities", "revision", "asks_about", "notice")
TYPES = ("routing", "plan_overview", "plan_step", "plan_step_completed")


@dataclass(frozen=True, slots=True)
class Told:
    """Each None until the log says something of it."""

    plan: Json | None = None
    routing: Json | None = None


def told_by_log(execution_id: uuid.UUID) -> Told:
    """One query, of a few rows: a plan has at most some tasks, and is made anew at most some times."""
    rows = Event.objects.filter(execution=execution_id, type__in=TYPES).order_by("seq")
    return told(orjson.loads(body) for body in rows.values_list("body", flat=True))


def told(events: Iterable[Json]) -> Told:
    """Pure: the newest route and the newest plan, every task with what became of it, in the order of the log."""
    routing: Json | None = None
    overview: Json | None = None
    states: dict[str, Json] = {}
    for event in events:
        match event["type"]:
            case "routing":
                routing = {name: event[name] for name in _ROUTING if name in event}
            case "plan_overview":
                overview = event
            case "plan_step":
                states[event["step"]["id"]] = {"status": "running", "error": None}
            case "plan_step_completed":
                states[event["step_id"]] = {"status": event["status"], "error": event.get("error")}
    if overview is None:
        return Told(routing=routing)
    tasks = [{**step, **states.get(step["id"], {"status": "pending", "error": None})} for step in overview["steps"]]
    plan = {name: overview[name] for name in _OVERVIEW if name in overview}
    return Told(plan={**plan, "tasks": tasks}, routing=routing)
