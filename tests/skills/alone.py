"""One program as a run of its own, without a database: the journal in memory, the real model gateway at the scripted
server, and a door of tools that are simple functions."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, cast

from agents.engine.context import Context
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun, PipelineSettings
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.providers import Limits
from tests.engine.driving import ROOT
from tests.loop.driving import Door, Function, LoopCase
from tests.scripted.server import ScriptedServer

AgentProgram = Callable[[AgentContext, Any], Awaitable[Any]]


class Alone:
    """Makes cases, each of one program; `stack` closes their models after the test."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.stack = AsyncExitStack()

    def __call__(self, program: AgentProgram, functions: Mapping[str, Function] | None = None) -> LoopCase:
        async def root(context: Context, value: Any) -> Any:
            return await program(AgentContext(cast("DrivenRun", context.run), context.agent), value)

        return LoopCase(
            {ROOT: root}, models=self._models(), settings=PipelineSettings(), door=Door(functions or {}, {})
        )

    def _models(self) -> ModelGateway:
        provider = {
            "name": "scripted",
            "base_url": f"{self.server.url}/v1",
            "api_key": "sk-scripted",
            "tier_models": {"max": "scripted-max", "pro": "scripted-pro", "flash": "scripted-flash"},
        }
        settings = LLMSettings.from_env({"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider])})
        models = ModelGateway(settings.model_copy(update={"limits": Limits(attempts=1)}))
        self.stack.push_async_callback(models.aclose)
        return models


def streamed(case: LoopCase) -> str:
    """What people see of the answer, with everything that was taken back gone."""
    seen = ""
    for event in case.all_events:
        if event["type"] == "token" and event["channel"] == "answer":
            seen += event["content"]
        if event["type"] == "token_reset" and event["channel"] == "answer":
            seen = seen[: event["keep"]]
    return seen
