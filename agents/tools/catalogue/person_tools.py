"""Asking the person whose run it is, in mid-work (S111, S112)."""

from typing import Annotated, Any, Literal

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.craft.exchange import AgentInput
from agents.runtime.context import AgentContext
from agents.tools.tool import ANY_AGENT, Reply, ToolError, composite

ALONE = (
    "Nobody can be asked in this run. Choose what is most likely meant, go on, and say in your answer what you assumed."
)


@composite(label=gettext_noop("Ask a person"), agents=ANY_AGENT)
async def ask_user(
    context: AgentContext,
    question: Annotated[
        str, "One question, with all that is needed to answer it", Field(min_length=1, max_length=2000)
    ],
    options: Annotated[
        tuple[str, ...], "The answers to choose from; empty to let them write", Field(max_length=10)
    ] = (),
    kind: Annotated[Literal["decision", "input"] | None, "decision: choose one of the options; input: write"] = None,
) -> Reply:
    """Asks the person and waits for the answer, which may take long.

    Only where the task cannot be done without it. Not for leave to do something: protected tools ask by themselves.
    """
    kind = kind or ("decision" if options else "input")
    if kind == "decision" and len(set(options)) < 2:
        raise ToolError("A decision needs at least two different options; for a free answer, use the kind input.")
    task: AgentInput | None = context.task_input
    if task is not None and not task.options.interactive:
        raise ToolError(ALONE)
    answer = await context.ask(kind, {"question": question, "options": options})
    return Reply(content=_told(answer), data=answer)


def _told(answer: Any) -> str:
    """The answer in words for the model. No answer is one, too: it goes on without. Whoever declines says why as the
    answer or beside it, as instructions."""
    found = answer if isinstance(answer, dict) else {}
    said = [str(found[key]) for key in ("choice", "text", "instructions") if found.get(key)]
    match found.get("status"):
        case "answered" if said:
            return f"The person answered: {'. '.join(dict.fromkeys(said))}"
        case "denied" | "answered":
            why = f" They said: {'. '.join(dict.fromkeys(said))}." if said else ""
            return f"The person does not want to answer.{why} Go on without it, or end with what you have."
        case _:
            return "Nobody answered in time. Go on without it, and say in your answer what you assumed."
