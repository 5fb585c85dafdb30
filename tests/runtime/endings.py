"""How a run may end, whatever a model, a tool or a person did: what every test of a limit looks at."""

import json
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async

from agents.engine.states import LIVE_AGENTS
from agents.models import AgentExecution, Effect, Execution, Step
from hitl.models import Request
from tests.runtime.driving import ended, events
from tests.shown import shown

LAST = {"completed": "complete", "cancelled": "complete", "failed": "error"}


async def wholly_ended(id_: UUID, *, timeout_s: float = 30) -> tuple[Execution, list[dict[str, Any]]]:
    """The run once it is over, and its events. It left nothing behind: no agent at work, no question, no traceback."""
    run = await ended(id_, timeout_s=timeout_s)
    said = await events(id_)
    assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
    assert said[-1]["type"] == LAST[run.status], said[-3:]
    assert "Traceback" not in json.dumps(said)
    if run.status == "completed":
        assert run.answer.strip()
        assert shown(said) == run.answer == said[-1]["answer"]
    if run.status == "failed":
        assert said[-1]["message"] == run.error_message
        assert run.error_message.endswith((".", "…")), "a sentence for people"
        assert run.error_code != "internal", run.error_message
    assert not await _left_behind(id_)
    return run, said


async def agents_of(id_: UUID) -> list[AgentExecution]:
    """In the order in which they came."""
    return await _rows(AgentExecution, execution=id_)


async def tool_steps_of(id_: UUID) -> list[Step]:
    return await _rows(Step, agent__execution=id_, kind="tool")


async def effects_of(id_: UUID) -> list[Effect]:
    return await _rows(Effect, execution=id_)


def told(said: list[dict[str, Any]], type_: str, **fields: Any) -> list[dict[str, Any]]:
    """The events of this type that have these values."""
    return [event for event in said if event["type"] == type_ and fields.items() <= event.items()]


async def _left_behind(id_: UUID) -> list[str]:
    agents = [f"{agent.agent_name} is {agent.status}" for agent in await agents_of(id_) if agent.status in LIVE_AGENTS]
    questions = [f"{row.kind} is open" for row in await _rows(Request, execution_id=id_, status="pending")]
    return agents + questions


@sync_to_async
def _rows(model: Any, **where: Any) -> list[Any]:
    return list(model.objects.filter(**where))
