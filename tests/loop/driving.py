"""Runs a loop as a run does, without a database: the journal in memory, the real model gateway on the scripted server,
and a door of tools that are simple functions."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from agents.craft.exchange import AgentInput
from agents.craft.loop import react
from agents.craft.loop_state import Looped
from agents.engine.context import Context, Outcome
from agents.engine.events import Source, Token, ToolCall, ToolResult
from agents.engine.records import Announced, Record, StepRecord
from agents.engine.run import Run
from agents.engine.states import StepKind, StepStatus
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun, PipelineSettings
from agents.runtime.outbox import Outbox
from agents.runtime.tool_door import ConnectedTool, ToolReply
from agents.spec import AgentSpec
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.providers import Limits
from hyperagent.lib.llm.types import ToolSpec
from tests.doubles.memory_journal import Death, MemoryJournal
from tests.engine.driving import ROOT, Case
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer

SECRET = "sk-very-secret-key"
SPEC = AgentSpec(
    name="helper",
    description="Helps with whatever the test wants to have done.",
    capabilities=("helping",),
    typical_use_cases=("Help me", "Help her"),
    tools=("search", "read"),
)
TASK = AgentInput(agent_id="helper-1", agent_name="helper", task="Find the figure", speaks=True)

Given = str | ToolReply
Function = Callable[[dict[str, Any]], Given | Awaitable[Given]]


class Refused(Exception):
    """A tool says no, in words for the model."""


@dataclass
class Door:
    """Tools by name, and `ask_user`, which asks a person. `performed` names what was really called, with its
    arguments; a replay adds nothing. `missing`: providers that are not configured, with what people are told.
    """

    functions: Mapping[str, Function]
    missing: Mapping[str, str]
    performed: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        schema = {"type": "object", "properties": {}}
        return tuple(ToolSpec(name=name, description=f"Does {name}", parameters=schema) for name in names)

    def protected(self, names: Sequence[str]) -> Sequence[Any]:
        return ()

    def is_of_others(self, name: str) -> bool:
        return False

    def lacks(self, names: Sequence[str]) -> str:
        return " ".join(self.missing[name] for name in names if name in self.missing)

    def provider(self, name: str) -> Any:
        raise KeyError(f"this door has no provider {name}")

    async def happened(self, context: AgentContext, begun: StepRecord) -> bool | None:
        return None

    async def clear_up(self, run: DrivenRun) -> None:
        return None

    async def connected(self, context: AgentContext) -> Mapping[str, Any]:
        return {}

    async def connected_tools(self, context: AgentContext) -> Mapping[str, Sequence[ConnectedTool]]:
        return {}

    async def lacks_for(self, about: About, names: Sequence[str]) -> str:
        return self.lacks(names)

    async def call(
        self, context: AgentContext, name: str, arguments: Any, *, allowed: Sequence[str], call_id: str | None
    ) -> ToolReply:
        if name == "ask_user" and name in allowed:
            return ToolReply((await context.ask("input", {"question": "Which year?"}))["text"])
        if name not in allowed or name not in self.functions:
            return ToolReply.failed(f"there is no tool '{name}' for you.")
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            return ToolReply.failed("the arguments are no JSON object.")
        context.emit(ToolCall(tool=name, args=given, id=call_id))

        async def perform() -> Outcome:
            self.performed.append((name, given))
            return Outcome(_as_json(await self._said(name, given)))

        reply = _from_json(await context.step(StepKind.TOOL, name, given, perform))
        context.emit(ToolResult(tool=name, content=reply.content, id=call_id, is_error=reply.is_error))
        return reply

    async def _said(self, name: str, given: dict[str, Any]) -> ToolReply:
        try:
            said = self.functions[name](given)
            said = await said if inspect.isawaitable(said) else said
        except Refused as error:
            return ToolReply.failed(str(error))
        return ToolReply(said) if isinstance(said, str) else said


def _as_json(reply: ToolReply) -> dict[str, Any]:
    sources = [source.model_dump(mode="json") for source in reply.sources]
    return {"content": reply.content, "data": reply.data, "trouble": reply.trouble, "sources": sources}


def _from_json(kept: dict[str, Any]) -> ToolReply:
    sources = tuple(Source.model_validate(source) for source in kept["sources"])
    if kept["trouble"]:
        return ToolReply.failed(kept["trouble"], kept["data"])
    return ToolReply(kept["content"], kept["data"], sources=sources)


@dataclass
class Spoken:
    """The journal with what an outbox has beside it: frames of text, each stored as it comes."""

    journal: MemoryJournal

    def write(self, *records: Record) -> None:
        self.journal.write(*records)

    async def committed(self) -> None:
        await self.journal.committed()

    def add_token(self, agent_id: UUID, channel: Any, text: str) -> None:
        self.journal.write(Announced(agent_id, Token(content=text, channel=channel)))


@dataclass
class LoopCase(Case):
    """A run whose program is one loop. `run` is the newest driver's; `looped` is what its loop gave."""

    models: ModelGateway = field(kw_only=True)
    settings: PipelineSettings = field(kw_only=True)
    door: Door | None = None
    run: DrivenRun | None = None
    looped: Looped | None = None

    def take_over(self, *, death: Death | None = None, at: int = 0) -> tuple[Run, MemoryJournal]:
        journal, loaded = self.store.take_over(self.execution_id, death=death, at=at)
        self.run = DrivenRun(
            self.execution_id,
            outbox=cast("Outbox", Spoken(journal)),
            models=self.models,
            programs=self.programs,
            loaded=loaded,
            tools=self.door,
            settings=self.settings,
        )
        return self.run, journal

    def replies_recorded(self) -> int:
        """How many lines of a script in order are used up."""
        steps = self.store.steps(self.execution_id)
        return sum(step.kind is StepKind.MODEL and step.status is StepStatus.FINISHED for step in steps)

    def steps_named(self, name: str) -> list[StepRecord]:
        return [step for step in self.store.steps(self.execution_id) if step.name == name]

    @property
    def all_events(self) -> list[dict[str, Any]]:
        return [json.loads(event.body) for event in self.store.events(self.execution_id)]


class Cases:
    """Makes cases; `stack` closes their models after the test."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.stack = AsyncExitStack()

    def __call__(
        self,
        functions: Mapping[str, Function] | None = None,
        *,
        task: AgentInput = TASK,
        spec: AgentSpec = SPEC,
        settings: PipelineSettings | None = None,
        missing: Mapping[str, str] | None = None,
        **options: Any,
    ) -> LoopCase:
        """`options` are those of `react`."""

        async def program(context: Context, value: Any) -> Any:
            inside = AgentContext(cast("DrivenRun", context.run), context.agent)
            case.looped = await react(inside, task, spec, **{"system": "You help.", **options})
            return {"answer": case.looped.text}

        case = LoopCase(
            {ROOT: program},
            models=self._models(),
            settings=settings or PipelineSettings(),
            door=None if functions is None else Door(functions, missing or {}),
        )
        return case

    def _models(self) -> ModelGateway:
        provider = {
            "name": "scripted",
            "base_url": f"{self.server.url}/v1",
            "api_key": SECRET,
            "tier_models": {"pro": "scripted-pro", "flash": "scripted-flash"},
        }
        settings = LLMSettings.from_env({"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider])})
        models = ModelGateway(settings.model_copy(update={"limits": Limits(attempts=1)}))
        self.stack.push_async_callback(models.aclose)
        return models


async def looped(case: LoopCase) -> Looped:
    """Drives the case to its end, which must be a good one."""
    end = await case.drive()
    assert end.how == "completed", end
    assert case.looped is not None
    return case.looped


def calls(*wanted: tuple[str, Any], text: str = "", **more: Any) -> Script:
    """A reply that calls tools. Arguments are given as a value, or as text if it is to be sent as it stands."""
    made = [
        ScriptedCall(name=name, arguments=given if isinstance(given, str) else json.dumps(given))
        for name, given in wanted
    ]
    return Script(text=text, tool_calls=made, **more)


def sent(server: ScriptedServer, number: int) -> list[dict[str, Any]]:
    """The messages of a request as the model got them; -1 is the last request."""
    return server.calls[number].messages


def offered(server: ScriptedServer, number: int) -> list[str]:
    """The names of the tools whose schemas a request carried."""
    return [tool["function"]["name"] for tool in server.calls[number].body.get("tools", [])]
