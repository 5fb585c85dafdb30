"""Runs a script that calls tools: one recorded result, and below it the calls that it made (S198, S200)."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from agents.codeact.calls import Calls, Limits
from agents.engine.canonical import digest
from agents.engine.context import Outcome
from agents.engine.errors import OutsideError
from agents.engine.events import Body, CodeResult, Source, TerminalCommand, TerminalComplete
from agents.engine.scripts import Script, Waits
from agents.guardrails.content import look_at_result
from agents.runtime.attempts import SWITCHED_OFF, Attempt
from agents.runtime.context import AgentContext
from agents.sandbox.base import Stream
from agents.sandbox.telling import Terminal
from agents.tools.acting import only_over
from agents.tools.catalogue.code_tools import SHOWN_PROGRAM_CHARS, results_of
from agents.tools.clip import STORED_CHARS, clip, clip_value
from agents.tools.providers import ScriptRun, Scripts
from agents.tools.replies import SAY_SO
from agents.tools.tool import Reply, ToolError
from agents.tools.untrusted import marked_untrusted
from agents.tools.values import CodeRun
from agents.tools.verdicts import CallAsked, forbidden_by_now, thrown
from hyperagent.lib.text import clean_text, clean_value

ERROR_CHARS: Final = 2_000
MOST_TOLD: Final = 10
TAKING_S: Final = 60.0
"""How long the files of one that had to be stopped are waited for."""
RAN_AGAIN: Final = (
    "It was interrupted and ran again from its start, and did not make these calls again that it had made before. They "
    "are done, and were not repeated:"
)
MADE_BEFORE: Final = (
    "It was interrupted, and could not run again. Until then it had made these calls. They are done: do not make them "
    "again."
)
NOBODY_KNOWS: Final = f"These calls were interrupted, and it is not known whether they happened. {SAY_SO}"
DONE_BY_THEN: Final = "These calls that it made are done: a program that takes its place must not make them again."


async def run_script(
    context: AgentContext,
    code: str,
    *,
    tool: str,
    scripts: Scripts,
    allowed: Sequence[str],
    limits: Limits | None = None,
    waits: Waits | None = None,
) -> Reply:
    """What the script gave, for the model: success, output, exit code, files made; and what became of its calls.

    `allowed`: the tools that it may call, as far as they are for the agent at work. Raises StepFailed.
    """
    within = limits or Limits()

    async def perform(script: Script) -> Outcome:
        await _still_allowed(context, tool, code)
        done = await _performed(context, script, code, tool=tool, scripts=scripts, allowed=allowed, limits=within)
        return Outcome({**done, "run": done["run"] and await _without_force(context, done["run"], tool=tool)})

    kept = await context.script(tool, {"code": code}, perform, waits=waits)
    context.attempts.extend(_attempt(value) for value in kept["attempts"])
    run = CodeRun.model_validate({**(kept["run"] or {}), "code": code})
    data = {
        "success": run.exit_code == 0,
        "stdout": run.stdout,
        "stderr": run.stderr,
        "exit_code": run.exit_code,
        "created_files": list(run.created_files),
        "sandbox_id": run.sandbox_id,
        "note": "\n".join(part for part in (run.note, *_told_of_calls(run, kept, source=tool)) if part),
        "calls": kept["calls"],
        "not_asked_again": kept["not_asked_again"],
    }
    sources = tuple(Source.model_validate(source) for source in kept["sources"])
    return Reply(content=told(run, kept, source=tool), data=data, sources=sources)


async def _without_force(context: AgentContext, run: dict[str, Any], *, tool: str) -> dict[str, Any]:
    """What a script printed may be what others wrote, as the result of any other tool."""
    printed = {"content": "", "chars": 0, "sources": [], "data": {name: run[name] for name in ("stdout", "stderr")}}
    return {**run, **(await look_at_result(context, printed, tool=tool))["data"]}


def told(run: CodeRun, kept: Mapping[str, Any], *, source: str) -> str:
    """For the model: what it printed is text of others, for it may have read some. So is how its files fared: it named
    them."""
    ended = "It was stopped before it ended." if run.exit_code is None else f"Exit code: {run.exit_code}"
    printed = [
        run.note,
        f"stdout:\n{run.stdout}" if run.stdout else "It printed nothing.",
        f"stderr:\n{run.stderr}" if run.stderr else "",
        f"Files made: {', '.join(run.created_files)}" if run.created_files else "",
    ]
    text = marked_untrusted("\n".join(part for part in printed if part), source=source)
    return "\n".join(part for part in (ended, *_told_of_calls(run, kept, source=source), text) if part)


def _told_of_calls(run: CodeRun, kept: Mapping[str, Any], *, source: str) -> list[str]:
    """What another program would otherwise do once more."""
    found = _told_of_earlier(RAN_AGAIN, kept["not_asked_again"], kept.get("in_doubt", ()), source=source)
    if kept["done"] and run.exit_code != 0:
        found.append(f"{DONE_BY_THEN}\n{_listed(kept['done'], source=source)}")
    return found


def _told_of_earlier(said: str, done: Sequence[str], in_doubt: Sequence[str], *, source: str) -> list[str]:
    told_of = ((said, done), (NOBODY_KNOWS, in_doubt))
    return [f"{what}\n{_listed(calls, source=source)}" for what, calls in told_of if calls]


def _listed(calls: Sequence[str], *, source: str) -> str:
    """The arguments are whatever the script made of what it read."""
    more = len(calls) - MOST_TOLD
    lines = [*(f"- {call}" for call in calls[:MOST_TOLD]), *([f"- and {more} more"] if more > 0 else [])]
    return marked_untrusted("\n".join(lines), source=source)


async def _performed(
    context: AgentContext,
    script: Script,
    code: str,
    *,
    tool: str,
    scripts: Scripts,
    allowed: Sequence[str],
    limits: Limits,
) -> dict[str, Any]:
    """One run of it, and what is recorded of that. Raises OutsideError."""
    stopped: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def stop(why: str) -> None:
        if not stopped.done():
            stopped.set_result(why)

    calls = Calls(context, script, allowed, limits, stop)
    try:
        run = await _ran(context, code, scripts=scripts, again=script.again, calls=calls, stopped=stopped)
    except OutsideError as error:
        await _look_up(context, script)
        before = _told_of_earlier(MADE_BEFORE, script.not_asked_again, script.in_doubt, source=tool)
        raise OutsideError(error.code, "\n".join([error.message, *before])) from error
    await _look_up(context, script)
    kept = {
        "run": clip_value(run.model_dump(mode="json", exclude={"code"}), STORED_CHARS),
        "calls": calls.made,
        "done": calls.done,
        "not_asked_again": script.not_asked_again,
        "in_doubt": script.in_doubt,
        "attempts": [asdict(one) for one in calls.attempts],
        "sources": [source.model_dump(mode="json", exclude_none=True) for source in calls.sources],
    }
    cleaned: dict[str, Any] = clean_value(kept)
    return cleaned


async def _look_up(context: AgentContext, script: Script) -> None:
    """What an earlier run of it began to change, and this one does not come back to: whether it happened."""
    door = context.run.tools
    for begun in script.begun_before:
        script.settle(begun, await door.happened(context, begun) if door is not None else None)


async def _ran(
    context: AgentContext,
    code: str,
    *,
    scripts: Scripts,
    again: bool,
    calls: Calls,
    stopped: asyncio.Future[Any],
) -> CodeRun:
    """To its end, or to where it had to be `stopped`, with why. People see it as it goes."""
    seed = digest([str(context.run.execution_id), context.place, code]).hex()
    shown = _Shown(context, code, id_=seed[:12])
    running: asyncio.Future[CodeRun] = asyncio.ensure_future(
        scripts.run_script(
            context.run.about,
            ScriptRun(
                code=code,
                seed=seed,
                again=again,
                wall_s=calls.limits.wall_s,
                heard=shown.heard,
                answer=calls.answer,
                stopped=stopped,
                only_over=only_over(context),
            ),
        )
    )
    calls.clock.start()
    try:
        await asyncio.wait([running, stopped], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            run = running.result()
        else:
            calls.end()
            run = await _stopped(code, running, shown, why=stopped.result())
    except ToolError as error:
        shown.end(note=error.message)
        raise OutsideError("tool_failed", clip(clean_text(error.message), ERROR_CHARS)) from error
    except BaseException:
        shown.forget()
        raise
    finally:
        calls.end()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    shown.end(exit_code=run.exit_code, note=run.note)
    for event in results_of(run):
        context.emit(event)
    context.emit(shown.result(run))
    return run


async def _stopped(code: str, running: asyncio.Future[CodeRun], shown: "_Shown", *, why: str) -> CodeRun:
    """What it printed and made until then; only what it printed, where its files cannot be had."""
    await asyncio.wait([running], timeout=TAKING_S)
    run = CodeRun(code=code) if not running.done() or running.exception() else running.result()
    note = " ".join(part for part in (why, run.note) if part)
    return run.model_copy(update={**shown.kept(), "exit_code": None, "note": note})


class _Shown:
    """Its output as it comes, for people. One that runs again begins anew under the same id."""

    def __init__(self, context: AgentContext, code: str, *, id_: str) -> None:
        self.id = id_
        self._context = context
        self._attempt = secrets.token_hex(6)
        self._terminal = Terminal(id_, self._emit)
        self._texts: dict[Stream, list[str]] = {"stdout": [], "stderr": []}
        self._emit(TerminalCommand(command=code[:SHOWN_PROGRAM_CHARS], language="python", id=id_))

    def heard(self, stream: Stream, text: str) -> None:
        self._texts[stream].append(text)
        self._terminal.heard(stream, text)

    def kept(self) -> dict[str, str]:
        """For where it is stopped before it ends."""
        return {stream: clean_text("".join(texts)) for stream, texts in self._texts.items()}

    def result(self, run: CodeRun) -> CodeResult:
        return CodeResult(
            code=run.code,
            stdout=run.stdout,
            stderr=run.stderr,
            exit_code=run.exit_code,
            language="python",
            note=run.note,
            id=self.id,
        )

    def end(self, *, exit_code: int | None = None, note: str = "") -> None:
        self._terminal.flush()
        self._emit(TerminalComplete(exit_code=exit_code, id=self.id, note=note))

    def forget(self) -> None:
        self._terminal.forget()

    def _emit(self, body: Body) -> None:
        self._context.emit_of(self._attempt, body)


async def _still_allowed(context: AgentContext, tool: str, code: str) -> None:
    """Raises OutsideError where somebody threw a switch, or said no in general, since it was agreed to."""
    lookups, door = context.run.lookups, context.run.tools
    if lookups is None:
        return
    whole = door.protected((tool,)) if door is not None else ()
    if whole:
        no = await forbidden_by_now(context, lookups, CallAsked.of(whole[0], {"code": code}))
    else:
        why = await thrown(context, lookups, tool)
        no = (SWITCHED_OFF, why) if why else None
    if no is not None:
        raise OutsideError(no[0], f"{tool} was not carried out. {no[1]}")


def _attempt(value: dict[str, Any]) -> Attempt:
    return replace(Attempt(**{**value, "position": ()}), position=tuple(value["position"]))
