"""The one door to the tools: every call of a model, an agent, a skill or a script goes through here, link by link."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from agents.engine.events import Source, SourceFound, ToolCall, ToolResult
from agents.engine.records import Path
from agents.exchange import AgentInput
from agents.runtime.attempts import INSTRUCTED, Attempt
from agents.runtime.context import AgentContext, ToolReply
from agents.tools.approval import approved
from agents.tools.arguments import Refusal, closest, fitted, parsed, shown
from agents.tools.checks import Changed, Checks, Instructed, Request, first_refusal, unapproved
from agents.tools.performing import carry_out
from agents.tools.providers import Providers
from agents.tools.registry import tools as all_tools
from agents.tools.replies import Stored, refused, reply_of, was_found_done
from agents.tools.tool import Tool
from hyperagent.lib.llm.types import ToolSpec
from hyperagent.lib.text import clean_text

NAME_CHARS = 80


CHECKS: Final = Checks(approvals=(approved,))
"""What every call of the product passes."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a call gave. `told`: what the model is to know of how it came about."""

    kept: Stored
    told: str


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

    def lacks(self, names: Sequence[str]) -> str:
        return self._providers.lacks(names)

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
        context.emit(ToolCall(tool=name, args=shown(given), id=shown_id))
        outcome = await self._through(context, name, given, allowed=allowed, call_id=shown_id)
        context.attempts.append(_attempt(position, name, outcome))
        if isinstance(outcome, Refusal):
            reply = refused(outcome)
            context.emit(ToolResult(tool=name, content=reply.content, id=shown_id, is_error=True))
            if outcome.code == INSTRUCTED and call_id is None:
                raise Instructed(name, outcome)
            return reply
        reply = reply_of(self._tools[name], outcome.kept, told=outcome.told)
        already = was_found_done(outcome.kept)
        context.emit(ToolResult(tool=name, content=outcome.kept["content"], id=shown_id, already_done=already))
        for source in self._new_sources(name, reply):
            context.emit(SourceFound(source=source))
        return reply

    def _new_sources(self, name: str, reply: ToolReply) -> tuple[Source, ...]:
        """Those of a composite tool were shown when its inner calls found them."""
        return () if self._tools[name].composite else reply.sources

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
        return kept if isinstance(kept, Refusal) else Carried(kept, cleared.told)

    def _found(
        self, context: AgentContext, name: str, given: dict[str, Any] | Refusal, allowed: Sequence[str]
    ) -> tuple[Tool, BaseModel] | Refusal:
        """The tool and what it is to be called with, if this agent may call it at all."""
        tool = self._tools.get(name)
        if tool is None:
            return unknown(name, [other for other in allowed if other in self._tools])
        if name not in allowed or not tool.is_for(context.agent.name):
            return not_allowed(tool, context.agent.name, allowed)
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
        cleared = await self._approved(context, request, values)
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
        lacking: str = await context.note("lacking", lambda: self._providers.lacks(tool.needs))
        return Refusal("not_configured", f"{lacking} Until then, do without {tool.name}.") if lacking else None


def _request(tool: Tool, values: BaseModel, call_id: str) -> Request:
    return Request(tool, values.model_dump(mode="json"), call_id)


def _attempt(position: Path, name: str, outcome: "Carried | Refusal") -> Attempt:
    if isinstance(outcome, Carried):
        return Attempt(position, name)
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
    """What changes the world is done only where the task was given it: people were shown the plan by these names."""
    return tool.effect == "read" or task is None or not task.tools or tool.name in task.tools


def unknown(name: str, allowed: Sequence[str]) -> Refusal:
    near = closest(name, allowed)
    meant = f" Did you mean {near}?" if near else ""
    return Refusal("unknown_tool", f"there is no tool '{name}'.{meant} {_choice(allowed)}")


def not_allowed(tool: Tool, agent: str, allowed: Sequence[str]) -> Refusal:
    others = [name for name in allowed if name != tool.name]
    return Refusal("not_allowed", f"the {agent} agent may not call {tool.name}. {_choice(others)}")


def _choice(allowed: Sequence[str]) -> str:
    return f"You can call: {', '.join(sorted(allowed))}." if allowed else "You have no tools: answer without."
