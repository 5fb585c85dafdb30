"""For tests of approvals through the real runner: an agent with tools that need a yes, and people who decide."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async

from agents.craft.exchange import AgentInput, Options, Work
from agents.craft.loop import react
from agents.pipeline.work import commission, work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from agents.tools.tool import ANY_AGENT, Call, Reply, Tool, tool
from hitl import actions
from hitl.answers import Response
from hitl.kinds import RequestStatus, Via
from hitl.models import Request
from tests.runtime.driving import until
from tests.scripted.script import Script, ScriptedCall


@dataclass
class Board:
    """Where notes are pinned. Pinning is an effect that can be looked up."""

    pinned: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def tools(self, **flags: Any) -> dict[str, Tool]:
        async def was_pinned(call: Call, **_: Any) -> bool:
            return call.key in self.keys

        @tool(**{"agents": ANY_AGENT, "effect": "write", "requires_approval": True, "probe": was_pinned, **flags})
        async def pin(call: Call, text: str, color: str = "white") -> Reply:
            """Pins a note to the board."""
            self.pinned.append(text)
            self.keys.add(call.key)
            return Reply(content=f"Pinned: {text}", data={"text": text})

        @tool(agents=ANY_AGENT)
        async def look(call: Call) -> str:
            """Looks at the board."""
            return ", ".join(self.pinned) or "Nothing is pinned."

        return {"pin": pin, "look": look}


SPEC = AgentSpec(
    name="poster",
    description="Pins notes to the board, if it may.",
    capabilities=("pinning",),
    typical_use_cases=("Pin this", "Pin that"),
    tools=("pin", "look"),
    handoffs=False,
    max_retries=0,
)


async def by_model(context: AgentContext, task: AgentInput) -> Work:
    """A model decides what is pinned."""
    looped = await react(context, task, SPEC, system="You pin notes.", middleware=())
    return Work(result=looped.text)


async def by_code(context: AgentContext, task: AgentInput) -> Work:
    """The agent's own code pins its task."""
    reply = await context.tool("pin", {"text": task.task})
    return Work(
        result=reply.content, done=not reply.is_error, error=reply.data.get("error") if reply.is_error else None
    )


def programs(run: Any = by_model, *, spec: AgentSpec = SPEC, **options: Any) -> dict[str, Any]:
    """`asks`: a pipeline of one poster, whose output is its result."""
    poster = partial(work, Agent(spec, run))

    async def asks(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        task = AgentInput(
            agent_id="poster-1",
            agent_name=spec.name,
            task=turn["question"],
            tools=spec.tools,
            options=Options.model_validate(options),
        )
        output = await context.wait(await context.fork(spec.name, commission(task), task=task.task))
        return {"answer": output["result"], "sources": [], "output": output}

    return {"asks": asks, spec.name: poster}


def pins(*texts: str, **more: Any) -> Script:
    """A model's reply that pins these, all at once."""
    called = [ScriptedCall(name="pin", arguments=json.dumps({"text": text})) for text in texts]
    return Script(tool_calls=called, **more)


@sync_to_async
def open_requests(execution_id: UUID) -> list[Request]:
    return list(Request.objects.pending().filter(execution_id=execution_id).order_by("created_at", "request_id"))


async def requests(execution_id: UUID, count: int = 1) -> list[Request]:
    """The requests of a run that are open, once there are so many of them."""

    async def enough() -> list[Request] | None:
        found = await open_requests(execution_id)
        return found if len(found) == count else None

    found: list[Request] = await until(enough)
    return found


async def the_request(execution_id: UUID) -> Request:
    (request,) = await requests(execution_id)
    return request


@sync_to_async
def respond(user: Any, request: Request, decision: str, **more: Any) -> Request:
    return actions.respond(user, request.request_id, Response(RequestStatus(decision), **more), via=Via.API)


def call_of(request: Request) -> Mapping[str, Any]:
    (call,) = request.question["tool_calls"]
    found: Mapping[str, Any] = call
    return found
