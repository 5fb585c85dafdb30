"""Scripts and programs for whole turns in which every role asks a model of its own."""

import json
from functools import partial
from typing import Any

from agents import registry
from agents.craft.exchange import AgentInput, Work
from agents.craft.loop import react
from agents.pipeline.work import work
from agents.registry import Agent
from agents.runtime.context import AgentContext
from agents.spec import AgentProgram
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

ONCE = {"LLM_ATTEMPTS": "1"}


def own_models(*agents: str) -> dict[str, str]:
    """Each of them asks a model of its own, by which the script knows it."""
    return {f"{agent.upper()}_MODEL": f"scripted/scripted-{agent}" for agent in agents} | ONCE


def says(agent: str, value: Any, *, times: int = 1, **more: Any) -> Script:
    text = value if isinstance(value, str) else json.dumps(value)
    return Script(model=f"scripted-{agent}", text=text, times=times, **more)


def programs(**agents: AgentProgram) -> dict[str, Any]:
    """These agents of the roster with other programs."""
    return {name: partial(work, Agent(registry.specs()[name], run)) for name, run in agents.items()}


def in_a_loop(name: str) -> AgentProgram:
    """An agent that is nothing but the loop, with its own tools and handoffs."""

    async def run(context: AgentContext, task: AgentInput) -> Work:
        looped = await react(context, task, registry.specs()[name], system="Work.")
        return Work(result=looped.text, handoff=looped.handoff)

    return run


def sent(server: ScriptedServer, number: int) -> str:
    return "\n".join(str(message["content"]) for message in server.calls[number].messages)
