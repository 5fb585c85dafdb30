"""The whole of what a tool gave, of which the event log tells the beginning: the journal has the rest."""

import json
import uuid
from dataclasses import dataclass

from agents.engine.states import StepKind
from agents.models import Event, Step


@dataclass(frozen=True, slots=True)
class Result:
    """`chars`: how long it was when the tool gave it; `content` is shorter where even the journal kept less."""

    tool: str
    content: str
    chars: int


def whole_result(execution_id: uuid.UUID, seq: int) -> Result | None:
    """Of the call whose `tool_result` has this number in the log of the run; None if that is no such event."""
    event = Event.objects.filter(execution=execution_id, seq=seq, type="tool_result").first()
    if event is None:
        return None
    told = json.loads(event.body)
    begins, tool = told["content"], told["tool"]
    kept = _kept(event, tool) if told.get("clipped") else None
    if kept is None or not kept[0].startswith(begins):
        return Result(tool, begins, len(begins))
    return Result(tool, *kept)


def _kept(event: Event, tool: str) -> tuple[str, int] | None:
    """Text and length in the step that the event was told after: the last call of this tool up to its place."""
    if not event.origin:
        return None
    _, place, _ = event.origin.rsplit("/", 2)
    steps = Step.objects.filter(agent=event.agent_id, kind=StepKind.TOOL, name=tool, cut_at=None)
    step = steps.filter(path__lte=[int(number) for number in place.split(".")]).order_by("-path").first()
    if step is None or not isinstance(step.response, dict) or "content" not in step.response:
        return None
    return step.response["content"], step.response["chars"]
