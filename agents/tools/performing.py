"""Carries a call out: as a step that only reads, as an effect in the ledger, or by its own inner steps.

Whatever goes wrong in a tool is recorded, so that a resumed run is told the same: in words, never with a traceback.
"""

import asyncio
from typing import Any, Final
from uuid import uuid4

import structlog
from pydantic import BaseModel

from agents.engine.context import Outcome
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, Skipped, StepFailed
from agents.engine.states import StepKind
from agents.guardrails.content import look_at_result
from agents.runtime.context import AgentContext
from agents.tools.acting import carries_out, only_over
from agents.tools.arguments import Refusal, fitted
from agents.tools.checks import Instructed
from agents.tools.clip import clip
from agents.tools.doubt import told_in_doubt
from agents.tools.providers import Providers
from agents.tools.registry import tools as all_tools
from agents.tools.replies import USE, Stored, found_done, settled, stored
from agents.tools.taint import taint_of
from agents.tools.tool import Call, Tool, ToolError
from agents.tools.verdicts import CallAsked, approvers_of, forbidden_by_now
from hyperagent.lib.outage import database_was_away, is_outage
from hyperagent.lib.telemetry import measures, tracing
from hyperagent.lib.text import clean_text, clean_value

log = structlog.get_logger(__name__)

ERROR_CHARS = 2_000
SETTLED: Final = "settled"
STORAGE_AWAY: Final = "storage_away"
AWAY: Final = "{tool} could not be carried out: a part of the server was away for a moment. Call it again."
AGAIN_AFTER_S: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
CONNECTED: Final = "connected"
"""How the tools of connected servers are counted: people name those."""


async def settle(tool: Tool, values: BaseModel, context: AgentContext, *, providers: Providers) -> BaseModel | Refusal:
    """The arguments with what the tool adds to them before anybody is asked: one recorded step, so that a replay asks
    about the same. A tool without `settle` has none.
    """
    settling = tool.settle
    if settling is None:
        return values

    async def perform() -> Outcome:
        call = _call(context, providers, tool=tool, values=values)
        try:
            async with asyncio.timeout(tool.timeout_s):
                return Outcome(clean_value(await settling(call, **_keywords(values))))
        except ToolError as error:
            raise OutsideError("tool_failed", _told(error.message)) from error
        except TimeoutError as error:
            raise OutsideError(
                "tool_timeout", f"{tool.name} could not be prepared in time. Try again later."
            ) from error
        except Exception as error:
            raise _broken(tool, error) from error

    request = {"tool": tool.name, "arguments": recorded_arguments(values)}
    try:
        added: dict[str, Any] = await context.step(StepKind.NOTE, SETTLED, request, perform)
    except StepFailed as failure:
        return Refusal(failure.code, failure.message)
    return fitted({**values.model_dump(mode="json"), **added}, tool.arguments, tool=tool.name)


async def carry_out(tool: Tool, values: BaseModel, context: AgentContext, *, providers: Providers) -> Stored | Refusal:
    """The tool's result, or how it failed; the same on every replay."""
    try:
        if tool.composite:
            return await _compose(tool, values, context)
        if tool.effect == "write":
            return await _change(tool, values, context, providers)
        return await _read(tool, values, context, providers)
    except StepFailed as failure:
        return Refusal(failure.code, failure.message)


async def _read(tool: Tool, values: BaseModel, context: AgentContext, providers: Providers) -> Stored:
    async def perform() -> Outcome:
        await _still_allowed(tool, context, values)
        done = await _watched(context, tool, _call(context, providers, tool=tool, values=values), values)
        done = await look_at_result(context, done, tool=tool.name) if tool.untrusted else done
        return Outcome(done, done.get(USE))

    kept: Stored = await context.step(StepKind.TOOL, tool.name, recorded_arguments(values), perform)
    if USE in kept:
        context.report(kept[USE])
    return kept


async def _change(tool: Tool, values: BaseModel, context: AgentContext, providers: Providers) -> Stored | Refusal:
    async def perform(key: str) -> Stored:
        await _still_allowed(tool, context, values)
        done = await _watched(context, tool, _call(context, providers, tool=tool, key=key, values=values), values)
        return await look_at_result(context, done, tool=tool.name) if tool.untrusted else done

    async def probe(key: str) -> bool | None:
        return await probed(tool, values, context, key=key, providers=providers)

    told = told_in_doubt(tool, values)
    # A doubt is theirs to settle who had to say yes: to do it again is to say yes again.
    if approvers := approvers_of(context, CallAsked.about(tool, values)):
        told["approvers"] = approvers
    effect = Effect(tool.name, recorded_arguments(values), perform, probe if tool.probe else None, told)
    done = await context.carried_out(effect)
    response: Stored | Refusal = settled(tool, done.response) or done.response
    return found_done(response) if done.already and not isinstance(response, Refusal) else response


async def _compose(tool: Tool, values: BaseModel, context: AgentContext) -> Stored | Refusal:
    try:
        return stored(await tool.function(context, **_keywords(values)))
    except (StepFailed, Skipped):
        raise
    except Instructed as said:
        return said.refusal
    except ToolError as error:
        raise StepFailed("tool_failed", _told(error.message)) from error
    except Exception as error:
        if database_was_away(error):
            raise  # Whoever drives the run next goes on from the calls that are recorded.
        # Noted, because the error's id would be another one on a replay.
        failure = _broken(tool, error)
        raise StepFailed(failure.code, await context.note(failure.code, lambda: failure.message)) from error


def recorded_arguments(values: BaseModel) -> dict[str, Any]:
    """Without what equals its default: a tool that grows an optional parameter still finds what it did before, and an
    effect that happened is not repeated for it."""
    return values.model_dump(mode="json", exclude_defaults=True)


async def _watched(context: AgentContext, tool: Tool, call: Call, values: BaseModel) -> Stored:
    """Performed, and seen from outside: what it took, and how it ended. Raises OutsideError."""
    arguments = recorded_arguments(values) if tracing.captures_content() else None
    (name,) = measures.tools(tool.name if tool.name in all_tools() else CONNECTED)
    span = context.run.trace.tool(context.agent.id, tool.name, call_id=context.call_id, arguments=arguments)
    outcome = "stopped"
    try:
        with span.within():
            done = await _performed(tool, call, values)
        outcome = "ok"
        return done
    except OutsideError as error:
        outcome = error.code
        raise
    finally:
        if outcome != "ok":
            span.failed(outcome)
        span.end()
        measures.TOOL_CALLS.labels(name, outcome).inc()


async def _performed(tool: Tool, call: Call, values: BaseModel) -> Stored:
    """Raises OutsideError for all that goes wrong."""
    try:
        async with asyncio.timeout(tool.timeout_s):
            given = await _given(tool, call, values)
        return stored(given)
    except OutsideError:
        raise
    except ToolError as error:
        why = _told(error.message)
        used = None if error.use is None else error.use.model_dump(mode="json")
        raise OutsideError("tool_failed", why, may_have_happened=error.may_have_happened, usage=used) from error
    except TimeoutError as error:
        why = f"{tool.name} took longer than {tool.timeout_s:g} s and was stopped. Ask for less, or do without it."
        raise OutsideError("tool_timeout", why, retryable=True, may_have_happened=True) from error
    except Exception as error:
        raise _broken(tool, error) from error


async def _given(tool: Tool, call: Call, values: BaseModel) -> Any:
    """What the tool's function gives. A look is taken again while the database is away. A change is not, for how far it
    came is for its probe to say; nor is what a person allowed once, such as a program."""
    if not tool.changes_the_world:
        for wait_s in AGAIN_AFTER_S:
            try:
                return await tool.function(call, **_keywords(values))
            except Exception as error:
                if not is_outage(error):
                    raise
                log.warning("tool.storage_away", tool=tool.name, again_in_s=wait_s)
            await asyncio.sleep(wait_s)
    return await tool.function(call, **_keywords(values))


async def probed(
    tool: Tool, values: BaseModel, context: AgentContext, *, key: str, providers: Providers
) -> bool | None:
    """Whether an effect happened. A probe that fails knows nothing, and no probe neither. Where the database is away it
    raises: nobody is to be asked what it can tell a moment later, when the run looks again."""
    if tool.probe is None:
        return None
    call = _call(context, providers, tool=tool, key=key, touched=context.has_touched(key), values=values)
    try:
        async with asyncio.timeout(tool.timeout_s):
            found: bool | None = await tool.probe(call, **_keywords(values))
    except Exception as error:
        if database_was_away(error):
            raise
        log.exception("tool.probe_failed", tool=tool.name)
        return None
    return found


def _broken(tool: Tool, error: Exception) -> OutsideError:
    if is_outage(error):
        return OutsideError(STORAGE_AWAY, AWAY.format(tool=tool.name), may_have_happened=True)
    return _crashed(tool, error)


def _crashed(tool: Tool, error: Exception) -> OutsideError:
    error_id = uuid4().hex[:8]
    log.error("tool.crashed", tool=tool.name, error_id=error_id, exc_info=error)
    why = f"{tool.name} broke down (error {error_id}). That is a fault of the tool: do without it."
    return OutsideError("tool_crashed", why, may_have_happened=True)


async def _still_allowed(tool: Tool, context: AgentContext, values: BaseModel) -> None:
    """Right before the world is touched. Raises OutsideError where somebody threw a switch, or said no in general while
    another was asked about this call: nothing happened then."""
    lookups = context.run.lookups
    if lookups is None or not (tool.changes_the_world or context.run.was_asked):
        return
    asked = CallAsked.about(tool, values)
    if tool.changes_the_world or asked.hash in context.run.was_asked:
        no = await forbidden_by_now(context, lookups, asked)
        if no is not None:
            raise OutsideError(no[0], f"{tool.name} was not carried out. {no[1]}")


def _call(
    context: AgentContext,
    providers: Providers,
    *,
    tool: Tool,
    values: BaseModel,
    key: str = "",
    touched: bool = False,
) -> Call:
    async def touching() -> None:
        await _still_allowed(tool, context, values)
        await context.touching(key)

    attempt = uuid4().hex[:8]

    return Call(
        providers=providers,
        about=context.run.about,
        agent_name=context.agent.name,
        agent_input=context.task_input,
        key=key,
        emit=context.emit,
        touching=touching,
        touched=touched,
        emit_live=lambda body: context.emit_of(attempt, body),
        place=context.place,
        only_over=only_over(context),
        stays=bool(tool.address)
        and bool(taint_of(context.run))
        and carries_out(context, tool, values.model_dump(mode="json", include={tool.address})),
    )


def _keywords(values: BaseModel) -> dict[str, Any]:
    return {name: getattr(values, name) for name in type(values).model_fields}


def _told(message: str) -> str:
    return clip(clean_text(message), ERROR_CHARS)
