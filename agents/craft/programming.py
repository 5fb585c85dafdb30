"""Writing a program, running it in the sandbox, and mending it: what the agents for code and for data have in common.

Without a sandbox the program is written and not run, and says why; nothing else is pretended.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agents.codeact.mode import SCRIPT_TOOL, is_codeact
from agents.codeact.prompting import library_told
from agents.craft.briefing import quoted
from agents.craft.code_blocks import Code, code_in, fenced
from agents.craft.exchange import AgentInput, HandoffInfo
from agents.craft.handing_over import handoff_tools
from agents.craft.loop import react
from agents.craft.stages import stage
from agents.engine.context import Outcome
from agents.engine.events import CodeResult
from agents.engine.states import StepKind
from agents.pipeline.languages import language_of
from agents.pipeline.work import DECIDED_BY_PEOPLE
from agents.runtime import attempts
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.spec import AgentSpec
from agents.tools.answers import NO_REASON
from agents.tools.values import FILE_CHARS
from hyperagent.lib.clipping import beginning, ending, in_strings
from hyperagent.lib.llm.types import Message, Role

MAX_ROUNDS: Final = 3
GIVEN: Final = ".given"
"""The folder of what we put beside the programs: hidden, so that it is nobody's file."""
INPUTS: Final = "inputs.json"
INPUTS_TOLD: Final = "JSON, by task: `agent_name`, `result` in words, and `data` as that agent gives it"
_FOLDER_CHARS: Final = 8
_TEXTS_CUT_TO: Final = (100_000, 30_000, 10_000, 3_000, 1_000, 300)
_NO_ROOM: Final = "This was more than a file here takes."
OUTPUT_CHARS: Final = 6_000
LIBRARIES: Final = "numpy, pandas, scipy, matplotlib, openpyxl, xlsxwriter, python-pptx, pillow"
"""What programs in Python can import, beside the standard library (`deploy/sandbox`)."""
NO_BLOCK: Final = "Your answer has no program in a fenced block. Give the whole program in one fenced block."
CHANGED: Final = "A person changed the program before it was run. What ran is this:"
MEND: Final = "The program {ended}. Find the cause, and give the whole mended program in one fenced block.\n\n{output}"

# By the gateway's code.
_WHY_IN_GERMAN: Final[Mapping[str, str]] = {
    attempts.DENIED: "Die Freigabe wurde abgelehnt",
    attempts.FORBIDDEN: "Es ist hier nicht erlaubt",
    attempts.TIMED_OUT: "Niemand hat rechtzeitig über die Freigabe entschieden",
    attempts.WITHDRAWN: "Die Frage nach der Freigabe wurde zurückgezogen",
    attempts.NOBODY_TO_ASK: "Es braucht eine Freigabe, und bei dieser Art zu fragen kann niemand gefragt werden: "
    "Fragen Sie im Chat oder über den streamenden Endpunkt, oder mit on_approval=wait",
    attempts.SWITCHED_OFF: "Es ist zurzeit abgeschaltet",
}
_SAID_MORE: Final = (attempts.DENIED, attempts.FORBIDDEN, attempts.SWITCHED_OFF)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of a program gave. `code` is what ran: not what was written, where a person changed it before."""

    code: Code | None = None
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = 0
    """None where it was stopped before it ended."""
    files: tuple[str, ...] = ()
    """Paths of what it made."""
    note: str = ""
    """What its next version has to know of this run, besides its output."""
    sandbox_id: str | None = None
    """The session of the sandbox that ran it."""


@dataclass(frozen=True, slots=True)
class Programmed:
    """`code` is None where the model wrote none. `ran` is None where it was not run, and `why_not` says why."""

    said: str
    code: Code | None = None
    ran: Ran | None = None
    why_not: str = ""
    refusal: str = ""
    """The gateway's code, where it was the gateway that did not let it run."""
    reason: str = ""
    """What was said to that: by a person, a rule, a policy."""
    tool: str = "execute_code"
    is_changed: bool = False
    """Whether `code` is not what the model wrote, but what a person put in its place."""
    rounds: int = 0
    handoff: HandoffInfo | None = None
    model: str | None = None

    @property
    def worked(self) -> bool:
        return self.ran is not None and self.ran.exit_code == 0


async def sandbox_lacks(context: AgentContext) -> str:
    """Why no program can be run here, with the way out; empty if one can be."""
    door = context.run.tools
    if door is None:
        return "This process has no tools, so no program can be run."

    async def perform() -> Outcome:
        return Outcome(await door.lacks_for(context.run.about, ("sandbox",)))

    why: str = await context.step(StepKind.NOTE, "sandbox_lacks", None, perform)
    return why


async def write_program(
    context: AgentContext, task: AgentInput, spec: AgentSpec, *, system: str, user: str, cannot_run: str
) -> Programmed:
    """A program that was run until it worked, at most three times; only written if it `cannot_run`. Before each of them
    the task may be handed over, with what the ones before it made."""
    system = f"{system}\n\n{library_told(spec.name)}" if is_codeact(task) and not cannot_run else system
    messages: tuple[Message, ...] = (Message(role=Role.USER, content=user),)
    made = Programmed(said="")
    failed: Programmed | None = None
    for number in range(1, MAX_ROUNDS + 1):
        with stage(context, "generate", "Writing the program" if number == 1 else "Mending the program"):
            looped = await react(
                context,
                task.model_copy(update={"speaks": False}),
                spec,
                system=system,
                messages=messages,
                tools=handoff_tools(spec),
                stage="generate",
                middleware=(),
                max_iterations=1,
            )
        code = code_in(looped.text)
        made = Programmed(said=looped.text, code=code, rounds=number, handoff=looped.handoff, model=looped.model_used)
        if looped.handoff is not None:
            return made
        if code is None:
            messages = (*looped.messages, Message(role=Role.USER, content=NO_BLOCK))
            continue
        made = await attempted(context, made, code, cannot_run=cannot_run)
        if made.ran is None or made.worked:
            return made
        failed = made
        messages = (*looped.messages, Message(role=Role.USER, content=_mend(made, made.ran)))
    if failed is None or made.code is not None:
        return made
    # It gave up on it: the program is there all the same, and what it printed.
    return replace(failed, rounds=made.rounds, model=made.model)


async def attempted(context: AgentContext, made: Programmed, code: Code, *, cannot_run: str) -> Programmed:
    """What came of running this program of it once, behind the gateway's questions; or why it was not run."""
    if cannot_run or not code.is_runnable:
        return _not_run(context, made, cannot_run or f"The sandbox does not run programs in {code.language}.")
    return await _run(context, made, code)


def tool_for(context: AgentContext, code: Code) -> str:
    """What runs it: in the mode in which programs act, one that can call tools by itself."""
    return SCRIPT_TOOL if is_codeact(context.task_input) and code.language == "python" else "execute_code"


async def run_code(context: AgentContext, code: Code) -> Ran | ToolReply:
    """What running it gave; the gateway's reply where it was not run."""
    tool = tool_for(context, code)
    language = {} if tool == SCRIPT_TOOL else {"language": code.language}
    reply = await context.tool(tool, {"code": code.text, **language})
    if reply.is_error or not isinstance(reply.data, dict):
        return reply
    found = reply.data
    return Ran(
        code=Code(str(found.get("language") or code.language), str(found.get("code") or code.text)),
        stdout=str(found.get("stdout") or ""),
        stderr=str(found.get("stderr") or ""),
        exit_code=found.get("exit_code"),
        files=tuple(map(str, found.get("created_files") or ())),
        note=str(found.get("note") or ""),
        sandbox_id=found.get("sandbox_id"),
    )


def given_in(context: AgentContext) -> str:
    """The folder in `GIVEN` of this agent alone: others of its conversation, which are at work beside it, have the same
    box."""
    return f"{GIVEN}/{hashlib.sha256(context.agent.lineage.encode()).hexdigest()[:_FOLDER_CHARS]}"


def inputs_in(context: AgentContext) -> str:
    return f"{given_in(context)}/{INPUTS}"


async def put_inputs(context: AgentContext, task: AgentInput) -> tuple[str, ...]:
    """What the agents before this one found goes into the sandbox, whole if there is room for it; the names of the
    files that are there."""
    if not task.dependency_outputs:
        return ()
    content = {name: output.model_dump(mode="json") for name, output in sorted(task.dependency_outputs.items())}
    return await put_file(context, inputs_in(context), _as_json(content))


def _as_json(content: dict[str, Any]) -> str:
    """In as many characters as a file takes: what is longer ends earlier, as its texts show, and at last their data is
    left out, and said to be."""
    written = json.dumps(content, ensure_ascii=False, indent=1)
    for most in _TEXTS_CUT_TO:
        if len(written) <= FILE_CHARS:
            return written
        written = _with_short_texts(content, most)
    if len(written) <= FILE_CHARS:
        return written
    bare = {name: {**output, "data": {"left_out": _NO_ROOM}} for name, output in content.items()}
    return _with_short_texts(bare, FILE_CHARS // (20 * len(bare)))


def _with_short_texts(content: dict[str, Any], most: int) -> str:
    return json.dumps(in_strings(content, lambda text: beginning(text, most)), ensure_ascii=False)


async def put_file(context: AgentContext, path: str, content: str) -> tuple[str, ...]:
    """The file's path, or nothing where it could not be written. What is longer than a file takes ends earlier."""
    text = beginning(content, FILE_CHARS)
    reply = await context.tool("sandbox_file", {"operation": "write", "path": path, "content": text})
    return () if reply.is_error else (path,)


def told_files(files: tuple[str, ...]) -> str:
    """For the prompt: which files there are."""
    if not files:
        return ""
    lines = [f"- `{name}`" + (f": {INPUTS_TOLD}" if _is_inputs(name) else "") for name in files]
    return "\n\n## Files in the working folder\n" + "\n".join(lines)


def _is_inputs(name: str) -> bool:
    return name.startswith(f"{GIVEN}/") and name.endswith(f"/{INPUTS}")


def program_of(made: Programmed) -> str:
    """The program in a block, and that it is a person's where it is; empty if there is none."""
    if made.code is None:
        return ""
    block = fenced(made.code.text, made.code.language)
    return f"{CHANGED}\n\n{block}" if made.is_changed else block


def as_block(name: str, text: str) -> str:
    """For people: text that is shown as it is."""
    return f"{name}:\n{fenced(text, 'text')}"


def output_of(ran: Ran, *, quote: Callable[[str, str], str] = quoted) -> str:
    """What the program printed: for a model as text of others, for people with `quote=as_block`."""
    parts = [
        "It was stopped before it ended." if ran.exit_code is None else f"Exit code: {ran.exit_code}",
        quote("stdout", _ends(ran.stdout)) if ran.stdout.strip() else "It printed nothing.",
        quote("stderr", _ends(ran.stderr)) if ran.stderr.strip() else "",
        f"Files made: {', '.join(ran.files)}" if ran.files else "",
    ]
    return "\n".join(part for part in parts if part)


def told_output(ran: Ran) -> str:
    """As `output_of`, for people who do not know programs: a paragraph for each part, and no more than there is."""
    ended = {None: "It was stopped before it ended.", 0: ""}
    parts = [
        ended.get(ran.exit_code, f"It ended with an error (exit code {ran.exit_code})."),
        as_block("It printed", _ends(ran.stdout)) if ran.stdout.strip() else "It printed nothing.",
        as_block("It reported", _ends(ran.stderr)) if ran.stderr.strip() else "",
        f"Files made: {', '.join(ran.files)}" if ran.files else "",
    ]
    return "\n\n".join(part for part in parts if part)


def told_not_run(made: Programmed, task: AgentInput) -> str:
    """That it was not run and why: for people, in the language of their question."""
    if language_of(task.original_question or task.task) != "de":
        why = made.why_not.removeprefix(f"{made.tool} was not carried out: ")
        return f"The program was not run. {why[:1].upper()}{why[1:]}"
    return f"Das Programm wurde nicht ausgeführt. {_why_in_german(made)}"


def _why_in_german(made: Programmed) -> str:
    why = _WHY_IN_GERMAN.get(made.refusal)
    if why is None:
        return made.why_not
    is_said = made.refusal in _SAID_MORE and made.reason not in ("", NO_REASON)
    return f"{why}: {made.reason}" if is_said else f"{why}."


def undone(made: Programmed, *, needs_result: bool) -> str | None:
    """Why the task is not done, as an error's code; None if it is. A person's no is told as such (S122)."""
    if made.worked:
        return None
    if made.ran is not None:
        return "program_failed"
    if made.refusal in DECIDED_BY_PEOPLE:
        return made.refusal
    return "not_run" if needs_result else None


def partial_of(made: Programmed, data: dict[str, Any]) -> dict[str, Any]:
    """What there is of a task that is not done."""
    return {**data, "reason": made.why_not, "tools": [made.tool]} if made.refusal else data


def data_of(made: Programmed) -> dict[str, Any]:
    """S177, S54. `exit_code` and `sandbox_id` are None where the program was not run."""
    ran = made.ran or Ran()
    return {
        "code": made.code.text if made.code else "",
        "language": made.code.language if made.code else "",
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "exit_code": ran.exit_code if made.ran else None,
        "sandbox_id": ran.sandbox_id,
    }


async def _run(context: AgentContext, made: Programmed, program: Code) -> Programmed:
    with stage(context, "execute", f"Running the program ({made.rounds} of at most {MAX_ROUNDS})"):
        ran = await run_code(context, program)
    if isinstance(ran, Ran):
        return replace(made, code=ran.code, ran=ran, is_changed=ran.code != program)
    said = ran.data if isinstance(ran.data, dict) else {}
    why = str(said.get("told") or ran.trouble)
    not_run = _not_run(context, made, why)
    refusal, reason = str(said.get("error") or ""), str(said.get("reason") or "")
    return replace(not_run, refusal=refusal, reason=reason, tool=tool_for(context, program))


def _not_run(context: AgentContext, made: Programmed, why: str) -> Programmed:
    """People see the program all the same; of one that is run the tool tells them."""
    context.emit(CodeResult(code=made.code.text if made.code else "", stderr=why))
    return replace(made, why_not=why)


def _mend(made: Programmed, ran: Ran) -> str:
    ended = "was stopped before it ended" if ran.exit_code is None else f"ended with exit code {ran.exit_code}"
    shown = program_of(made) if made.is_changed else ""
    return MEND.format(ended=ended, output="\n".join(filter(None, [shown, ran.note, output_of(ran)])))


def _ends(text: str) -> str:
    """Beginning and end of a long output: errors stand at its end."""
    if len(text) <= OUTPUT_CHARS:
        return text
    half = OUTPUT_CHARS // 2
    return f"{beginning(text, half)}\n{ending(text, half)}"
