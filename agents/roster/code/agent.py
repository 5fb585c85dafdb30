"""The code agent: writes a program, runs it in the sandbox, mends it, and says what came of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from agents.craft.attached import given_files, told_renamed
from agents.craft.briefing import briefing, house_rules, quoted, short_briefing
from agents.craft.code_blocks import code_in
from agents.craft.exchange import AgentInput, Work
from agents.craft.programming import (
    LIBRARIES,
    Programmed,
    Ran,
    as_block,
    attempted,
    data_of,
    inputs_in,
    output_of,
    partial_of,
    program_of,
    put_file,
    put_inputs,
    sandbox_lacks,
    told_files,
    told_not_run,
    told_output,
    undone,
    write_program,
)
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import ask_small
from agents.craft.stages import stage
from agents.craft.summing_up import summed_up
from agents.roster.code.intents import wants_result_only
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec

SPEC = AgentSpec(
    name="code",
    description="Writes programs and scripts, runs them in a sandbox without network, and mends what fails.",
    capabilities=("programming", "running code", "debugging", "computing", "file conversion", "algorithms"),
    typical_use_cases=(
        "Write a Python function that merges overlapping intervals, with tests",
        "Compute the first 50 primes whose digits add up to a prime",
        "Why does this script fail with an IndexError?",
        "Convert this JSON into CSV",
        "Compare the budget from my documents with the benchmarks that were found, in code",
    ),
    tools=(
        "execute_code",
        "sandbox_file",
        "use_document",
        "use_file",
        "read_document",
        "list_documents",
        "list_files",
        "read_file",
    ),
    temperature=0.1,
    data_fields=("code", "language", "stdout", "stderr", "exit_code", "sandbox_id"),
)

HERE = Path(__file__).parent
SMALL_CONFIDENCE: Final = 0.3
"""Of whatever the small model wrote, though it ran."""


async def run(context: AgentContext, task: AgentInput) -> Work:
    cannot_run = await sandbox_lacks(context)
    files = "" if cannot_run else await _files(context, task)
    told = briefing(task)
    made = await write_program(
        context,
        task,
        SPEC,
        system=fill(
            read_prompt(HERE / "generate.md"), rules=house_rules(), inputs=inputs_in(context), libraries=LIBRARIES
        ),
        user=told + files,
        cannot_run=cannot_run,
    )
    if made.handoff is not None:
        return Work(result="", handoff=made.handoff)
    if made.code is None:
        return Work(result=made.said, done=False, error="no_code", confidence=0.2, model_used=made.model)
    with stage(context, "summarize", "Saying what came of it"):
        text, model = await _summary(context, task, told, made)
    return _work(task, made, text, model)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    """What the small model writes is run once, as it is, if a person lets it (S131). What came of it is told in our
    words: it can neither mend a program nor read an output.
    """
    system = read_prompt(HERE / "prompt_small.md")
    reply = await ask_small(context, task, SPEC, system=system, user=short_briefing(task), stage="summarize")
    code = code_in(reply.text)
    written = Programmed(said=reply.text, code=code, rounds=1, model=reply.model)
    if code is None:
        return Work(result=reply.text, data=data_of(written), confidence=SMALL_CONFIDENCE, model_used=reply.model)
    made = await attempted(context, written, code, cannot_run=await sandbox_lacks(context))
    text = reply.text if made.ran is None else f"{reply.text}\n\n{_came_of(made, made.ran)}"
    return _work(task, made, text, reply.model).model_copy(update={"confidence": SMALL_CONFIDENCE})


async def _files(context: AgentContext, task: AgentInput) -> str:
    """For the prompt: what lies in the working folder for this task."""
    names = await put_inputs(context, task)
    files = await given_files(context, task, as_files=True)
    for file in files:
        names += (file.name,) if file.is_there else await put_file(context, file.name, file.text)
    return told_files(names) + told_renamed(files)


async def _summary(context: AgentContext, task: AgentInput, told: str, made: Programmed) -> tuple[str, str | None]:
    """In a model's words; in ours where it cannot be reached: the program is there all the same."""
    user = f"{told}\n\n## The program\n{program_of(made)}\n\n## Running it\n{_outcome(made)}"
    system = fill(read_prompt(HERE / "summarize.md"), rules=house_rules())
    plainly = f"{program_of(made)}\n\n{_outcome(made, quote=as_block)}"
    text, model = await summed_up(context, task, SPEC, system=system, user=user, otherwise=plainly)
    return text, model or made.model


def _outcome(made: Programmed, *, quote: Callable[[str, str], str] = quoted) -> str:
    if made.ran is None:
        return f"It was not run. {made.why_not}"
    return output_of(made.ran, quote=quote)


def _work(task: AgentInput, made: Programmed, text: str, model: str | None) -> Work:
    assert made.code is not None  # whoever calls this has looked
    only_result = wants_result_only(task.task)
    if made.code.text not in text and not (only_result and made.worked):
        text = f"{text}\n\n{program_of(made)}"
    if made.ran is None and made.why_not not in text:
        text = f"{text}\n\n{told_not_run(made, task)}"
    data = data_of(made)
    error = undone(made, needs_result=only_result)
    results = made.ran.stdout if made.ran else ""
    return Work(
        result=text,
        data={} if error else data,
        partial_data=partial_of(made, data) if error else {},
        done=error is None,
        error=error,
        confidence=0.9 if made.worked else 0.2 if error else 0.5,
        shared={"generated_code": made.code.text, "code_language": made.code.language, "execution_results": results},
        model_used=model,
    )


def _came_of(made: Programmed, ran: Ran) -> str:
    said = "The program was run." if made.worked else "The program was run, and does not work."
    return f"{said}\n\n{told_output(ran)}"
