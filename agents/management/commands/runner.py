"""`manage.py runner`: one runner process. `manage.py worker` starts and watches several."""

import asyncio
import os
import signal
from functools import partial
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents import registry, wholeness
from agents.availability import providers_of
from agents.guardrails.registry import BadScanner
from agents.guardrails.settings import GuardSettings
from agents.pipeline.programs import programs
from agents.runtime.driven import PipelineSettings
from agents.runtime.runner import Options, Runner
from agents.runtime.writer import tick_s
from agents.skills.base import BadSkill
from agents.tools.gateway import Gateway
from agents.tools.tool import BadTool
from hitl.deadlines import Deadlines
from hyperagent.lib import bare_imports, heap
from hyperagent.lib.conf import Config, HitlPolicy, number_as
from hyperagent.lib.llm import adapter
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.pace import Pace
from hyperagent.lib.llm.slots_postgres import PostgresSlots
from hyperagent.lib.patience import patient
from hyperagent.lib.process_names import own_name
from hyperagent.lib.telemetry import tracing


class Command(BaseCommand):
    help = "Claims runs and drives them, many at once, until SIGTERM."
    # They load every page's code, which a runner does not need.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", default=own_name(), help="unique among all runners")
        concurrency = settings.CONFIG.agent_concurrency
        parser.add_argument("--concurrency", type=number_as("AGENT_CONCURRENCY"), default=concurrency)

    def handle(self, *, name: str, concurrency: int, **_: Any) -> None:
        try:
            asyncio.run(_serve(name, concurrency))
        except psycopg.OperationalError as error:
            why = str(error).split("\n")[0]
            raise CommandError(f"This runner ends, for the database is away: {why}. Start it again.") from None


async def _serve(name: str, concurrency: int) -> None:
    config = settings.CONFIG
    try:
        wholeness.check()
    except (registry.BadAgent, BadTool, BadSkill, BadScanner) as error:
        raise CommandError(str(error)) from error
    models = LLMSettings.from_env(os.environ)
    if faults := models.faults_of_agents(registry.agents()):
        raise CommandError("\n".join(map(str, faults)))
    dsn = patient(config.direct_database_url)
    slots = PostgresSlots(partial(psycopg.AsyncConnection.connect, dsn, autocommit=True))
    options = Options(
        name=name,
        dsn=dsn,
        redis_url=config.redis_url.get_secret_value(),
        concurrency=concurrency,
        lease_s=config.lease_seconds,
        deadlines=_deadlines(config),
    )
    pace = Pace(tick_s)
    gateway = ModelGateway(models, slots, pace=pace)
    runner = Runner(
        options,
        models=gateway,
        programs=programs(),
        gateway=Gateway(providers_of(config, gateway)),
        settings=_pipeline_settings(config),
    )
    pace.struck = runner.writer.tick
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, runner.stop)
    if models.needs_litellm:
        bare_imports.import_bare(bare_imports.LITELLM)
        # Seconds of import: before the first turn, and not on the loop.
        loop.run_in_executor(None, _load_litellm)
    heap.settle()
    await runner.run()
    await slots.aclose()
    tracing.flush()


def _load_litellm() -> None:
    adapter.preload()
    heap.settle()


def _deadlines(config: Config) -> Deadlines:
    return Deadlines(
        expires_s=config.hitl_expires_seconds,
        interactive=config.hitl_policy is HitlPolicy.INTERACTIVE,
        approval_s=config.hitl_timeout_seconds,
        decision_s=config.hitl_decision_timeout_seconds,
        input_s=config.hitl_input_timeout_seconds,
    )


def _pipeline_settings(config: Config) -> PipelineSettings:
    return PipelineSettings(
        routing_mode=config.routing_mode,
        max_handoffs=config.max_handoffs,
        max_replans=config.max_replans,
        plan_asks_above_usd=config.plan_asks_above_usd,
        compression_enabled=config.context_compression_enabled,
        compression_tokens=config.context_compression_token_threshold,
        compression_keeps=config.context_compression_preserve_recent,
        guards=_guards(config),
    )


def _guards(config: Config) -> GuardSettings:
    return GuardSettings(
        enabled=config.guardrails_enabled,
        input=config.guardrails_input_enabled,
        output=config.guardrails_output_enabled,
        tool=config.guardrails_tool_enabled,
        action=config.guardrails_violation_action.value,
        timeout_ms=config.guardrails_timeout_ms,
        strict=config.guardrails_strict,
        redacted=config.guardrails_redact,
        model=config.guardrails_model,
        model_timeout_ms=config.guardrails_model_timeout_ms,
    )
