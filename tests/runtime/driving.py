"""Driving runs from tests: a runner in the test's own loop, and looking at what it did."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from agents import actions
from agents.models import Event, Execution
from agents.pipeline.programs import programs
from agents.runtime.driven import PipelineSettings
from agents.runtime.runner import Options, Runner
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from agents.tools.tool import Tool
from hitl.deadlines import Deadlines
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.gateway import ModelGateway


def model_env(url: str, **more: str) -> dict[str, str]:
    provider = {"name": "scripted", "base_url": f"{url}/v1", "api_key": "k", "tier_models": {"pro": "scripted-pro"}}
    return {"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]), **more}


def database_dsn() -> str:
    values = connection.get_connection_params()
    parts = {name: values[name] for name in ("host", "port", "user", "password", "dbname") if values.get(name)}
    return " ".join(f"{name}='{value}'" for name, value in parts.items())


class Runners:
    """Starts runners on the test's database and loop; `stop` ends them all."""

    def __init__(self) -> None:
        self._started: list[tuple[Runner, asyncio.Task[None]]] = []

    async def __call__(
        self,
        url: str,
        *,
        name: str = "runner-1",
        lease_s: float = 5,
        concurrency: int = 8,
        extra: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        providers: Providers | None = None,
        tools: Mapping[str, Tool] | None = None,
        pipeline: PipelineSettings | None = None,
        expires_s: float | None = None,
        deadlines: Deadlines | None = None,
        dsn: str = "",
    ) -> Runner:
        """`env`: settings of models besides the scripted one. `providers`: what the tools reach; nothing without.
        `tools`: these instead of all that there are. `expires_s`: how long a question stays open; for ever without.
        `dsn`: another way to the test's database."""
        options = Options(
            name=name,
            dsn=dsn or database_dsn(),
            redis_url=settings.CONFIG.redis_url.get_secret_value(),
            concurrency=concurrency,
            lease_s=lease_s,
            deadlines=deadlines or Deadlines(expires_s=expires_s),
        )
        models = ModelGateway(LLMSettings.from_env(model_env(url, **(env or {}))))
        gateway = Gateway(providers or Providers(), tools=tools)
        known = programs() | (extra or {})
        runner = Runner(options, models=models, programs=known, gateway=gateway, settings=pipeline)
        self._started.append((runner, asyncio.create_task(runner.run())))
        return runner

    async def stop(self) -> None:
        for runner, task in self._started:
            runner.stop()
            await task


@sync_to_async
def start(user: Any, question: str, **more: Any) -> UUID:
    return actions.start(user=user, conversation_id=None, question=question, **more).id


@sync_to_async
def execution(id_: UUID) -> Execution:
    return Execution.objects.get(id=id_)


@sync_to_async
def events(id_: UUID) -> list[dict[str, Any]]:
    return [
        json.loads(body)
        for body in Event.objects.filter(execution_id=id_).order_by("seq").values_list("body", flat=True)
    ]


async def until(condition: Callable[[], Any], *, timeout_s: float = 45) -> Any:
    """Awaits the condition's truth; fails with what it last gave."""
    value = None
    try:
        async with asyncio.timeout(timeout_s):
            while not (value := await condition()):
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"did not come true within {timeout_s} s; last: {value!r}") from None
    return value


async def ended(id_: UUID, *, timeout_s: float = 15) -> Execution:
    async def over() -> Execution | None:
        now = await execution(id_)
        return now if now.is_over else None

    found: Execution = await until(over, timeout_s=timeout_s)
    return found
