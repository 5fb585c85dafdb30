"""Drives one agent of the roster as a run does, without a database: the pipeline's own program around it, the real
tools over providers in memory, and the real model gateway on the scripted server."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast
from uuid import UUID

from agents import registry
from agents.craft.exchange import AgentInput, AgentOutput, DependencyOutput, Options
from agents.craft.programming import GIVEN
from agents.engine.context import Context
from agents.engine.events import Token
from agents.engine.records import Announced, Record
from agents.engine.run import Program, Run
from agents.engine.states import AgentStatus, StepKind, StepStatus
from agents.pipeline.work import commission, retry_config, work
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun
from agents.runtime.outbox import Outbox
from agents.tools.arguments import Refusal
from agents.tools.checks import Checks, Request
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from agents.tuning.values import Tuning
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.gateway import ModelGateway
from hyperagent.lib.llm.providers import Limits
from tests.doubles.memory_journal import Death, MemoryJournal
from tests.engine.driving import ROOT, Case
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import APPROVE_ALL, FakeSandbox
from tests.tools.driving import ALICE


def task_for(agent: str, task: str, **more: Any) -> AgentInput:
    """The task as the pipeline hands it to an agent that answers alone."""
    given = {
        "agent_id": f"{agent}-1",
        "agent_name": agent,
        "task": task,
        "original_question": task,
        "tools": registry.specs()[agent].tools,
        # Another attempt would only wait: what is tried here fails for good.
        "retry_config": retry_config(registry.specs()[agent]).model_copy(update={"max_retries": 0}),
        "speaks": True,
        "options": Options(interactive=False),
    }
    return AgentInput.model_validate({**given, **more})


def found_by(agent: str, result: str, **data: Any) -> DependencyOutput:
    return DependencyOutput(agent_name=agent, task_description="before", task_done=True, result=result, data=data)


@dataclass
class Framed:
    """The journal with what an outbox has beside it: text, which is stored in frames before whatever comes next."""

    journal: MemoryJournal
    frame: list[tuple[UUID, Any, str]] = field(default_factory=list)

    def write(self, *records: Record) -> None:
        self._store_frames()
        self.journal.write(*records)

    async def committed(self) -> None:
        self._store_frames()
        await self.journal.committed()

    def add_token(self, agent_id: UUID, channel: Any, text: str) -> None:
        if self.frame and self.frame[-1][:2] == (agent_id, channel):
            text = self.frame.pop()[2] + text
        self.frame.append((agent_id, channel, text))

    def _store_frames(self) -> None:
        frames, self.frame = self.frame, []
        for agent_id, channel, text in frames:
            self.journal.write(Announced(agent_id, Token(content=text, channel=channel)))


@dataclass
class RosterCase(Case):
    """A run whose root forks one agent and waits for it. All agents of the roster can be forked."""

    models: ModelGateway = field(kw_only=True)
    gateway: Gateway | None = None
    tunings: Mapping[str, Tuning] = field(default_factory=dict)
    turn: dict[str, Any] = field(default_factory=dict)
    run: DrivenRun | None = None
    journal: MemoryJournal | None = None
    """The newest driver's."""

    def take_over(self, *, death: Death | None = None, at: int = 0) -> tuple[Run, MemoryJournal]:
        journal, loaded = self.store.take_over(self.execution_id, death=death, at=at)
        self.journal = journal
        self.run = DrivenRun(
            self.execution_id,
            outbox=cast("Outbox", Framed(journal)),
            models=self.models,
            programs=self.programs,
            loaded=loaded,
            about=About(self.execution_id, user_id=ALICE),
            tools=self.gateway,
        )
        self.run.tunings = self.tunings
        self.run.turn = self.turn
        return self.run, journal

    async def output(self) -> AgentOutput:
        """Drives to the end; the agent's output, which must be one."""
        end = await self.drive()
        assert end.how == "completed", end
        assert end.value["status"] == AgentStatus.COMPLETED, end.value
        return AgentOutput.model_validate(end.value["output"])

    @property
    def all_events(self) -> list[dict[str, Any]]:
        return [json.loads(event.body) for event in self.store.events(self.execution_id)]

    def stages(self) -> list[tuple[str, str]]:
        return [(event["name"], event["status"]) for event in self.events("stage")]

    def replies_recorded(self) -> int:
        """How many calls of models are in the journal."""
        steps = self.store.steps(self.execution_id)
        return sum(step.kind is StepKind.MODEL and step.status is StepStatus.FINISHED for step in steps)


class Cases:
    """Makes cases on one scripted server; `stack` closes their models after the test."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.stack = AsyncExitStack()

    def __call__(
        self, task: AgentInput, providers: Providers | None = None, *, checks: Checks = APPROVE_ALL
    ) -> RosterCase:
        """Without `providers` none is configured."""

        async def program(context: Context, value: Any) -> Any:
            root = AgentContext(cast("DrivenRun", context.run), context.agent)
            handle = await root.fork(task.agent_name, commission(task), task=task.task)
            ended = await root.outcome(handle)
            return {"status": ended.status, "output": ended.output, "code": ended.code, "message": ended.message}

        roster = {name: partial(work, agent) for name, agent in registry.agents().items()}
        return RosterCase(
            cast("dict[str, Program]", {**roster, ROOT: program}),
            models=self._models(),
            gateway=Gateway(providers, checks=checks),
        )

    def _models(self) -> ModelGateway:
        provider = {
            "name": "scripted",
            "base_url": f"{self.server.url}/v1",
            "api_key": "k",
            "tier_models": {"pro": "scripted-pro", "flash": "scripted-flash"},
        }
        settings = LLMSettings.from_env({"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider])})
        models = ModelGateway(settings.model_copy(update={"limits": Limits(attempts=1)}))
        self.stack.push_async_callback(models.aclose)
        return models


def says(value: Any, **more: Any) -> Script:
    """A model's answer: text as it is, all else as JSON."""
    return Script(text=value if isinstance(value, str) else json.dumps(value), **more)


def calls(name: str, **arguments: Any) -> Script:
    """A model's answer that calls one tool."""
    return Script(tool_calls=[ScriptedCall(name=name, arguments=json.dumps(arguments))])


def given(sandbox: FakeSandbox) -> dict[str, str]:
    """What lies there in the folders that agents have of their own, by the names in them."""
    return {path.split("/", 2)[2]: text for path, text in sandbox.files.items() if path.startswith(f"{GIVEN}/")}


def prompt(server: ScriptedServer, number: int) -> str:
    """All that a model was sent in its request `number`, as one text; -1 is the last."""
    return "\n\n".join(str(message.get("content") or "") for message in server.calls[number].messages)


async def say_no(context: AgentContext, request: Request) -> Refusal | None:
    if not request.tool.requires_approval:
        return None
    return Refusal("denied_by_user", "the person said no: not today.")


DENY_ALL = Checks(approvals=(say_no,))
"""For tests of what comes after a person's no."""


def without_usage(output: AgentOutput) -> dict[str, Any]:
    """What must be the same however often the run was interrupted."""
    return output.model_dump(mode="json", exclude={"resource_usage"})
