"""One turn: what happens between a question and its answer. Ordinary code over a context."""

from pathlib import Path
from typing import Any

from agents.engine.errors import StepFailed
from agents.engine.events import Config, Title
from agents.pipeline.guards import guard_input, guard_output
from agents.prompts import read_prompt
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier
from hyperagent.lib.text import title_from

TITLE_PROMPT = Path(__file__).parent / "title_prompt.md"
BUNDLED_NOTICE = "The small bundled model answers: no model provider is configured. Expect mistakes."


async def run(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """`turn`: question, history, mode, options. Gives answer, sources, title and the model that answered."""
    models = context.run.models.settings
    served = await context.note("models", lambda: _served_by(models))
    context.emit(Config(values=served))
    question = await guard_input(context, turn["question"])
    options = turn["options"]
    task = {
        "question": question,
        "history": turn["history"],
        "capable": served["capable"],
        "provider": options.get("provider"),
        "model": options.get("model"),
        "tier": options.get("tier"),
    }

    async def answer(branch: AgentContext) -> Any:
        handle = await branch.fork("chat", task, task=title_from(question))
        return await branch.wait(handle)

    async def title(branch: AgentContext) -> str:
        return await _title(branch, question, wanted=not turn["history"] and served["titles"])

    answered, chosen = await context.all(answer, title)
    if chosen:
        context.emit(Title(title=chosen))
    text = await guard_output(context, answered["answer"])
    return {"answer": text, "sources": [], "title": chosen, "model": answered["model"]}


async def _title(context: AgentContext, question: str, *, wanted: bool) -> str:
    """A title by the cheap model; empty if none is wanted or the call fails: a title is no reason to fail."""
    if not wanted:
        return ""
    messages = (
        Message(role=Role.SYSTEM, content=read_prompt(TITLE_PROMPT)),
        Message(role=Role.USER, content=question[:2000]),
    )
    request = ModelRequest(tier=Tier.FLASH, messages=messages, max_tokens=200, agent="title")
    try:
        reply = await context.model(request, stage="title")
    except StepFailed:
        return ""
    return title_from(reply.text.strip().strip("\"'«»“”„."))


def _served_by(models: LLMSettings) -> dict[str, Any]:
    """What people are told of the models, and what the run decides by; recorded, so that a replay decides the same.

    A title is worth a call only where a cheaper model than the answering one is there for it.
    """
    provider = models.default
    pro, flash = (provider.model_of(tier) if provider else None for tier in (Tier.PRO, Tier.FLASH))
    return {
        "provider": provider.name if provider else None,
        "model": pro,
        "capable": not models.bundled_only,
        "titles": not models.bundled_only and flash is not None and flash != pro,
        "notice": BUNDLED_NOTICE if models.bundled_only else None,
    }
