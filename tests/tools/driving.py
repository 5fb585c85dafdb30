"""Drives a program that calls tools, with as many drivers as it takes, over the store in memory."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import UUID

from agents.craft.exchange import AgentInput
from agents.engine.context import Context
from agents.engine.run import Run
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun, PipelineSettings
from agents.runtime.lookups import Lookups
from agents.runtime.outbox import Outbox
from agents.tools.gateway import Gateway
from agents.tools.tool import Tool
from hyperagent.lib.llm.gateway import ModelGateway
from tests.doubles.memory_journal import Death, MemoryJournal
from tests.engine.driving import Case

ALICE = UUID("00000000-0000-4000-8000-00000000a11c")
ToolProgram = Callable[[AgentContext], Awaitable[Any]]


@dataclass
class ToolCase(Case):
    """One run of one agent. Models are never asked; the journal in memory stands for the outbox."""

    gateway: Gateway | None = None
    settings: PipelineSettings | None = None
    lookups: Lookups | None = None
    user_id: UUID = ALICE
    conversation_id: UUID | None = None
    turn: Mapping[str, Any] = field(default_factory=dict)
    """What the run was begun with."""

    def take_over(self, *, death: Death | None = None, at: int = 0) -> tuple[Run, MemoryJournal]:
        journal, loaded = self.store.take_over(self.execution_id, death=death, at=at)
        run = DrivenRun(
            self.execution_id,
            outbox=cast("Outbox", journal),
            models=cast("ModelGateway", None),
            programs=self.programs,
            loaded=loaded,
            about=About(self.execution_id, self.user_id, self.conversation_id),
            tools=self.gateway,
            settings=self.settings,
            lookups=self.lookups,
        )
        run.turn = self.turn
        return run, journal


def case_of(
    program: ToolProgram,
    gateway: Gateway,
    *,
    agent: str = "chat",
    task: AgentInput | None = None,
    others: Mapping[str, Any] | None = None,
    settings: PipelineSettings | None = None,
    lookups: Lookups | None = None,
    turn: Mapping[str, Any] | None = None,
) -> ToolCase:
    """A run whose root is `agent` at work on `task`. `others`: programs that it may fork."""

    async def root(context: Context, value: Any) -> Any:
        found = AgentContext(cast("DrivenRun", context.run), replace(context.agent, name=agent))
        found.task_input = task
        return await program(found)

    return ToolCase(
        {"root": root, **(others or {})}, gateway=gateway, settings=settings, lookups=lookups, turn=turn or {}
    )


def gateway_of(*tools: Tool, **more: Any) -> Gateway:
    """A gateway with these tools and no others."""
    return Gateway(more.pop("providers", None), tools={tool.name: tool for tool in tools}, **more)


async def replies(program: ToolProgram, gateway: Gateway, **more: Any) -> Any:
    """What the program gives, driven once to its end."""
    end = await case_of(program, gateway, **more).drive()
    assert end.how == "completed", end
    return end.value


async def call_once(gateway: Gateway, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    """One call as JSON: content, data, is_error, sources."""

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool(name, arguments))

    found: dict[str, Any] = await replies(program, gateway, **more)
    return found


def seen(reply: Any) -> dict[str, Any]:
    return {
        "content": reply.content,
        "data": reply.data,
        "is_error": reply.is_error,
        "sources": [source.model_dump(exclude_none=True) for source in reply.sources],
    }
