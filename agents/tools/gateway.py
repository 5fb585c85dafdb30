"""The one door to the tools: every call of a model, an agent, a skill or a script goes through here, link by link."""

import asyncio
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, cast

import structlog
from pydantic import BaseModel

from agents.craft.exchange import AgentInput
from agents.engine.canonical import digest
from agents.engine.context import Outcome
from agents.engine.events import Source, SourceFound, ToolCall, ToolResult
from agents.engine.records import Path, StepRecord
from agents.engine.states import StepKind
from agents.guardrails.calls import look_at_call
from agents.mcp.tools import tool_of
from agents.mcp.values import Offered
from agents.pipeline.artifacts import may_lie_there
from agents.pipeline.effective_task import Intent
from agents.runtime.attempts import INSTRUCTED, Attempt
from agents.runtime.context import AgentContext
from agents.runtime.driven import About, DrivenRun
from agents.runtime.tool_door import ConnectedTool, ToolReply
from agents.tools.approval import approved
from agents.tools.arguments import Refusal, closest, fitted, parsed, shown
from agents.tools.checks import Changed, Checks, Instructed, Request, first_refusal, unapproved
from agents.tools.performing import carry_out, probed, settle
from agents.tools.providers import NotConfigured, Providers
from agents.tools.registry import tools as all_tools
from agents.tools.replies import Stored, refused, reply_of, was_found_done
from agents.tools.tool import Tool, ToolError
from hyperagent.lib.llm.types import ToolSpec
from hyperagent.lib.text import clean_text

log = structlog.get_logger(__name__)

NAME_CHARS = 80
CLEARING_S: Final = 1.5
"""A run that was cancelled says so within two."""

CHECKS: Final = Checks(scanners=(look_at_call,), approvals=(approved,))
"""What every call of the product passes."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a call gave. `told`: what the model is to know of how it came about. `instructions`: of whoever approved
    it with other arguments."""

    kept: Stored
    told: str
    instructions: str = ""


class Gateway:
    """The `ToolDoor` of a process. `tools`: all that were discovered, unless others are given."""

    def __init__(
        self,
        providers: Providers | None = None,
        *,
        tools: Mapping[str, Tool] | None = None,
        checks: Checks = CHECKS,
    ) -> None:
        self._providers = providers or Providers()
        self._tools = all_tools() if tools is None else tools
        self._checks = checks

    def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """What a model is told of these tools, in this order. Raises KeyError for one that does not exist."""
        return tuple(self._tools[name].spec() for name in names)

    def protected(self, names: Sequence[str]) -> tuple[Tool, ...]:
        known = (self._tools[name] for name in names if name in self._tools)
        return tuple(tool for tool in known if tool.requires_approval)

    def is_of_others(self, name: str) -> bool:
        tool = self._tools.get(name)
        # A composite of which a result is recorded is a program; of a tool that is gone nobody can tell.
        return tool is None or tool.untrusted or tool.composite

    def lacks(self, names: Sequence[str]) -> str:
        return self._providers.lacks(names)

    def provider(self, name: str) -> Any:
        return getattr(self._providers, name)

    async def lacks_for(self, about: About, names: Sequence[str]) -> str:
        return await self._providers.lacks_for(about, names)

    async def connected(self, context: AgentContext) -> Mapping[str, Tool]:
        known = context.run.connected_tools
        has_none = known is not None and not known.get(context.agent.name)
        if has_none or isinstance(self._providers.connections, NotConfigured):
            return {}

        async def perform() -> Outcome:
            offered = await self._providers.connections.offered(context.run.about, context.run.lookups)
            return Outcome([one.model_dump(mode="json") for one in offered.get(context.agent.name, ())])

        noted = await context.step(StepKind.NOTE, "connected", None, perform)
        return {one["called"]: tool_of(Offered.model_validate(one)) for one in noted}

    async def connected_tools(self, context: AgentContext) -> Mapping[str, Sequence[ConnectedTool]]:
        if isinstance(self._providers.connections, NotConfigured):
            return {}

        async def perform() -> Outcome:
            offered = await self._providers.connections.offered(context.run.about, context.run.lookups)
            return Outcome({agent: list(map(_as_noted, tools)) for agent, tools in offered.items()})

        noted = await context.step(StepKind.NOTE, "connected", None, perform)
        found = {agent: tuple(map(_as_connected, tools)) for agent, tools in noted.items()}
        context.run.connected_tools = found
        return found

    async def call(
        self, context: AgentContext, name: str, arguments: Any, *, allowed: Sequence[str], call_id: str | None
    ) -> ToolReply:
        """One call, from what a model wrote to what it reads. `call_id`: the model's own; its events carry it.

        Without one it is the agent's own code that calls. That cannot read what a person said when approving, so it
        begins anew with it: `Instructed` is raised.
        """
        position = context.position
        shown_id = call_id or context.place
        name = clean_text(name)[:NAME_CHARS]
        given = parsed(arguments, tool=name)
        context.call_id = shown_id
        connected = context.connected.get(name)
        label = connected.label if connected is not None else None
        context.emit(ToolCall(tool=name, args=shown(given), id=shown_id, called_by=context.called_by, label=label))
        outcome = await self._through(context, name, given, allowed=allowed, call_id=shown_id)
        context.attempts.append(_attempt(position, name, outcome))
        if isinstance(outcome, Refusal):
            reply = refused(outcome)
            told = ToolResult(tool=name, content=reply.content, id=shown_id, is_error=True, called_by=context.called_by)
            context.emit(told)
            if outcome.code == INSTRUCTED and call_id is None:
                raise Instructed(name, outcome)
            return reply
        tool = self._known(context)[name]
        reply = reply_of(tool, outcome.kept, told=outcome.told)
        already = was_found_done(outcome.kept)
        content = outcome.kept["content"]
        context.emit(
            ToolResult(tool=name, content=content, id=shown_id, already_done=already, called_by=context.called_by)
        )
        for source in _new_sources(tool, reply):
            context.emit_for_run(SourceFound(source=source), _name_of(source))
        return reply

    async def happened(self, context: AgentContext, begun: StepRecord) -> bool | None:
        tool = self._known(context).get(begun.name)
        values = tool and fitted(begun.request, tool.arguments, tool=begun.name)
        if tool is None or not isinstance(values, BaseModel):
            return None
        return await probed(tool, values, context, key=begun.effect_key, providers=self._providers)

    async def clear_up(self, run: DrivenRun) -> None:
        if not may_lie_there(run):
            return
        try:
            async with asyncio.timeout(CLEARING_S):
                await self._providers.sandbox.clear_given(run.about)
        except (ToolError, TimeoutError) as error:
            log.warning("run.not_cleared_up", why=str(error))

    def _known(self, context: AgentContext) -> Mapping[str, Tool]:
        """Ours come first: no name of a stranger's takes the place of one."""
        return ChainMap(cast("dict[str, Tool]", self._tools), cast("dict[str, Tool]", context.connected))

    async def _through(
        self,
        context: AgentContext,
        name: str,
        given: dict[str, Any] | Refusal,
        *,
        allowed: Sequence[str],
        call_id: str,
    ) -> "Carried | Refusal":
        """The chain. What is decided by the call alone comes first and is no step; the rest is recorded."""
        found = self._found(context, name, given, allowed)
        if isinstance(found, Refusal):
            return found
        tool, values = found
        cleared = await self._checked(context, tool, values, call_id)
        if isinstance(cleared, Refusal):
            return cleared
        kept = await carry_out(tool, cleared.values, context, providers=self._providers)
        if isinstance(kept, Refusal):
            return _with_instructions(kept, cleared)
        return Carried(kept, cleared.told, cleared.instructions)

    def _found(
        self, context: AgentContext, name: str, given: dict[str, Any] | Refusal, allowed: Sequence[str]
    ) -> tuple[Tool, BaseModel] | Refusal:
        """The tool and what it is to be called with, if this agent may call it at all."""
        known = self._known(context)
        tool = known.get(name)
        if tool is None:
            return unknown(name, [other for other in allowed if other in known])
        if name not in allowed or not tool.is_for(context.agent.name):
            return not_allowed(tool, context.agent.name, allowed)
        if not is_in_its_mode(tool, context.task_input):
            return not_in_its_mode(tool, [other for other in allowed if other != name])
        if not is_planned(tool, context.task_input):
            return Refusal("not_planned", f"this task of the plan was not given {tool.name}. Say that it needs it.")
        if isinstance(given, Refusal):
            return given
        values = fitted(given, tool.arguments, tool=name)
        return values if isinstance(values, Refusal) else (tool, values)

    async def _checked(self, context: AgentContext, tool: Tool, values: BaseModel, call_id: str) -> Refusal | Changed:
        """The arguments that it is to be carried out with: its own, or those that a person put in their place."""
        checks, request = self._checks, _request(tool, values, call_id)
        refusal = (
            await first_refusal(checks.switches, context, request)
            or await self._not_configured(context, tool)
            or await first_refusal(checks.scanners, context, request)
        )
        if refusal is not None:
            return refusal
        settled = await settle(tool, values, context, providers=self._providers)
        if isinstance(settled, Refusal):
            return settled
        cleared = await self._approved(context, _request(tool, settled, call_id), settled)
        if isinstance(cleared, Refusal):
            return cleared
        return await first_refusal(checks.budgets, context, _request(tool, cleared.values, call_id)) or cleared

    async def _approved(self, context: AgentContext, request: Request, values: BaseModel) -> Refusal | Changed:
        checks, tool = self._checks, request.tool
        if tool.requires_approval and not checks.approvals:
            return unapproved(tool)
        cleared = Changed(values, "")
        for approval in checks.approvals:
            outcome = await approval(context, request)
            if isinstance(outcome, Refusal):
                return outcome
            if outcome is not None:
                cleared, request = outcome, _request(tool, outcome.values, request.call_id)
                refusal = await first_refusal(checks.scanners, context, request)
                if refusal is not None:
                    return refusal
        return cleared

    async def _not_configured(self, context: AgentContext, tool: Tool) -> Refusal | None:
        """Noted: a provider that is configured while a run waits must not change what the run did before."""
        if not tool.needs:
            return None

        async def perform() -> Outcome:
            return Outcome(await self.lacks_for(context.run.about, tool.needs))

        lacking: str = await context.step(StepKind.NOTE, "lacking", None, perform)
        return Refusal("not_configured", f"{lacking} Until then, do without {tool.name}.") if lacking else None


def _as_noted(offered: Offered) -> dict[str, Any]:
    tool = tool_of(offered)
    return asdict(ConnectedTool(tool.name, tool.requires_approval, tool.irreversible))


def _as_connected(noted: Any) -> ConnectedTool:
    """Runs from before more was noted have the names alone."""
    return ConnectedTool(noted) if isinstance(noted, str) else ConnectedTool(**noted)


def _new_sources(tool: Tool, reply: ToolReply) -> tuple[Source, ...]:
    """Those of a composite tool were shown when its inner calls found them."""
    return () if tool.composite else reply.sources


def _name_of(source: Source) -> str:
    """The same for the same source, however well it fits what was searched for."""
    return f"source:{digest(source.model_dump(mode='json', exclude={'relevance_score'})).hex()}"


def _request(tool: Tool, values: BaseModel, call_id: str) -> Request:
    return Request(tool, values.model_dump(mode="json"), call_id)


def _with_instructions(failed: Refusal, cleared: Changed) -> Refusal:
    """What a person said counts, though the call that they changed could not be carried out."""
    if not cleared.instructions:
        return failed
    said = {"instructions": cleared.instructions, "intent": Intent.ENHANCE.value}
    return replace(failed, message=f"{cleared.told}\n\n{failed.message}", details={**said, **failed.details})


def _attempt(position: Path, name: str, outcome: "Carried | Refusal") -> Attempt:
    if isinstance(outcome, Carried):
        # The call is what was agreed to, so what was said besides is more of the task and never another one.
        intent = Intent.ENHANCE.value if outcome.instructions else ""
        return Attempt(position, name, instructions=outcome.instructions, intent=intent)
    said = outcome.details
    return Attempt(
        position,
        name,
        outcome.code,
        reason=str(said.get("reason") or outcome.message),
        instructions=str(said.get("instructions") or ""),
        intent=str(said.get("intent") or ""),
    )


def is_planned(tool: Tool, task: AgentInput | None) -> bool:
    """What changes the world is done only where the task was given it: people were shown the plan by these names. Files
    of the user's own workspace are not meant: a skill or a script leaves some, and what they were before is kept."""
    is_in_plan = task is None or not task.tools or tool.name in task.tools
    return is_in_plan or tool.effect == "read" or tool.own_files is not None


def is_in_its_mode(tool: Tool, task: AgentInput | None) -> bool:
    return not tool.only_in or (task is not None and task.options.execution_mode == tool.only_in)


def not_in_its_mode(tool: Tool, others: Sequence[str]) -> Refusal:
    return Refusal("not_in_this_mode", f"{tool.name} is for runs in the mode {tool.only_in} only. {_choice(others)}")


def unknown(name: str, allowed: Sequence[str]) -> Refusal:
    near = closest(name, allowed)
    meant = f" Did you mean {near}?" if near else ""
    return Refusal("unknown_tool", f"there is no tool '{name}'.{meant} {_choice(allowed)}")


def not_allowed(tool: Tool, agent: str, allowed: Sequence[str]) -> Refusal:
    others = [name for name in allowed if name != tool.name]
    return Refusal("not_allowed", f"the {agent} agent may not call {tool.name}. {_choice(others)}")


def _choice(allowed: Sequence[str]) -> str:
    return f"You can call: {', '.join(sorted(allowed))}." if allowed else "You have no tools: answer without."
