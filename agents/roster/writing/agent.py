"""The writing agent: analyses what is wanted, outlines it, writes it, and revises what it wrote."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, Field

from agents.craft.briefing import briefing, house_rules, short_briefing
from agents.craft.exchange import AgentInput, HandoffInfo, Work
from agents.craft.handing_over import hand_over, handoff_tools
from agents.craft.hearing import with_said
from agents.craft.loop import react
from agents.craft.loop_state import Looped
from agents.craft.prompts import fill, read_prompt
from agents.craft.small import ask_small
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import Message, ModelReply, Role, Tier

SPEC = AgentSpec(
    name="writing",
    description="Writes and revises texts for people: articles, reports, letters, documentation, essays, posts.",
    capabilities=("long-form writing", "outlining", "rewriting", "editing", "documentation", "letters and posts"),
    typical_use_cases=(
        "Write a blog post about our move to four-day weeks",
        "Draft release notes for version 2.3 from these points",
        "Turn the findings into a two-page report for the board",
        "Rewrite this manual for readers who are not engineers",
        "Write a cover letter for a job as a nurse",
    ),
    temperature=0.7,
    data_fields=("writing_type", "tone", "outline", "draft", "final_content"),
)

HERE = Path(__file__).parent
# Up to here a text is written at once: an outline and a revision would cost more than they give.
SHORT_WORDS = 200
MOST_WORDS = 5_000
# How a loop ends that has made an outline: by itself, or when a handoff was refused.
OUTLINED: Final = (None, "iterations")


class Assignment(BaseModel):
    """What kind of text is wanted, for whom, and from what."""

    writing_type: str = Field(description="such as article, report, letter, documentation, essay, post, mail")
    tone: str = Field(description="such as plain, formal, friendly, persuasive")
    audience: str = Field(default="", description="who will read it")
    words: int = Field(default=150, description="about how many words the text should have")
    points: list[str] = Field(default=[], description="what it must say, in order, at most ten")
    missing: list[str] = Field(default=[], description="facts that it needs and that nobody gave")
    handoff_to: Literal["none", "research", "rag"] = Field(
        default="none",
        description="none, as a rule. research: not a text but an investigation of the web is wanted. "
        "rag: only the person's own documents can answer, and no text is wanted",
    )

    @property
    def is_short(self) -> bool:
        return self.words <= SHORT_WORDS

    def told(self) -> str:
        lines = [
            f"Kind: {self.writing_type}",
            f"Tone: {self.tone}",
            f"Readers: {self.audience or 'not said'}",
            f"Length: about {min(max(self.words, 1), MOST_WORDS)} words",
            *[f"Must say: {point}" for point in self.points[:10]],
            *[f"Not known, so not to be claimed: {fact}" for fact in self.missing[:10]],
        ]
        return "\n".join(f"- {line}" for line in lines)


@dataclass(frozen=True, slots=True)
class Written:
    outline: str
    draft: str
    text: str
    model: str


async def run(context: AgentContext, task: AgentInput) -> Work:
    told = briefing(task)
    with stage(context, "analyze", "Looking at what is to be written"):
        assignment = await _assignment(context, task, told)
    handoff = await _handed_over(context, task, assignment)
    if handoff is not None:
        return Work(result="", handoff=handoff)
    told = f"{told}\n\n## Assignment\n{assignment.told()}"
    if assignment.is_short:
        written = await _at_once(context, task, told)
    else:
        outlined = await _outlined(context, task, told)
        if outlined.handoff is not None:
            return Work(result="", handoff=outlined.handoff)
        written = await _in_full(context, task, told, outlined.text if outlined.stopped in OUTLINED else "")
    return _work(assignment, written, confidence=0.7 if assignment.missing else 0.9)


async def run_small(context: AgentContext, task: AgentInput) -> Work:
    system = read_prompt(HERE / "prompt_small.md")
    reply = await ask_small(context, task, SPEC, system=system, user=short_briefing(task), stage="write")
    written = Written(outline="", draft=reply.text, text=reply.text, model=reply.model)
    return _work(Assignment(writing_type="text", tone="plain"), written, confidence=0.4)


async def _assignment(context: AgentContext, task: AgentInput, told: str) -> Assignment:
    request = task.request(
        agent=SPEC.name,
        tier=Tier.FLASH,
        messages=_messages("analyze.md", told),
        temperature=0.1,
        keeps_temperature=True,
    )
    return await context.structured(await with_said(context, request), Assignment, stage="analyze")


async def _handed_over(context: AgentContext, task: AgentInput, assignment: Assignment) -> HandoffInfo | None:
    if assignment.handoff_to == "none":
        return None
    return await hand_over(context, assignment.handoff_to, task.task, why="; ".join(assignment.missing))


async def _at_once(context: AgentContext, task: AgentInput, told: str) -> Written:
    with stage(context, "write", "Writing"):
        reply = await _ask(context, task, "write", _messages("write.md", told))
    return Written(outline="", draft=reply.text, text=reply.text, model=reply.model)


async def _outlined(context: AgentContext, task: AgentInput, told: str) -> Looped:
    """Whoever outlines a text sees whether there is enough for it, so here the task may still be handed over."""
    with stage(context, "outline", "Making an outline"):
        return await react(
            context,
            task.model_copy(update={"speaks": False}),
            SPEC,
            system=fill(read_prompt(HERE / "outline.md"), rules=house_rules()),
            user=told,
            tools=handoff_tools(SPEC),
            stage="outline",
            middleware=(),
            max_iterations=1,
        )


async def _in_full(context: AgentContext, task: AgentInput, told: str, outline: str) -> Written:
    """A long text: written by its outline, if there is one, and revised."""
    told = f"{told}\n\n## Outline\n{outline}" if outline else told
    with stage(context, "write", "Writing a draft"):
        reply = await _ask(context, task, "write", _messages("write.md", told))
    return await _revised(context, task, told, outline, reply)


async def _revised(context: AgentContext, task: AgentInput, told: str, outline: str, draft: ModelReply) -> Written:
    """The draft, revised. It is the text where the revision fails: half of the work is better than none."""
    context.withdraw("the draft is revised")
    try:
        with stage(context, "finalize", "Revising the draft"):
            messages = _messages("finalize.md", f"{told}\n\n## Draft\n{draft.text}")
            reply = await _ask(context, task, "finalize", messages)
    except StepFailed:
        return Written(outline=outline, draft=draft.text, text=draft.text, model=draft.model)
    text = reply.text if reply.text.strip() else draft.text
    return Written(outline=outline, draft=draft.text, text=text, model=reply.model)


async def _ask(context: AgentContext, task: AgentInput, stage_name: str, messages: tuple[Message, ...]) -> ModelReply:
    request = task.request(agent=SPEC.name, tier=SPEC.tier, messages=messages, temperature=SPEC.temperature)
    return await context.model(await with_said(context, request), stage=stage_name, shown=task.speaks)


def _messages(prompt: str, told: str) -> tuple[Message, ...]:
    system = fill(read_prompt(HERE / prompt), rules=house_rules())
    return (Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=told))


def _work(assignment: Assignment, written: Written, *, confidence: float) -> Work:
    return Work(
        result=written.text,
        data={
            "writing_type": assignment.writing_type,
            "tone": assignment.tone,
            "outline": written.outline,
            "draft": written.draft,
            "final_content": written.text,
        },
        confidence=confidence,
        shared={"writing_outline": written.outline, "writing_draft": written.text},
        model_used=written.model,
    )
