"""The composer: what it is told, and asking the model for the one answer that people read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agents.craft.earlier_turns import earlier_turns
from agents.craft.exchange import Options
from agents.craft.hearing import with_said
from agents.craft.project_rules import with_project_rules, with_rules_of_another
from agents.craft.prompts import fill, read_prompt
from agents.craft.today import dated
from agents.engine.events import Source
from agents.pipeline.recall import format_user_profile
from agents.runtime.context import AgentContext
from agents.tools.untrusted import marked_untrusted
from hyperagent.lib.clipping import at_a_boundary, one_line
from hyperagent.lib.llm.types import Message, ModelReply, ModelRequest, Role, Tier

NAME: Final = "composer"
STAGE: Final = "finalize"
HERE = Path(__file__).parent
RESULTS_CHARS: Final = 60_000
RESULT_CHARS: Final = 1_500
"""What each result gets at least, however many there are."""
EXCERPT_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Result:
    """What an agent brought, its citations already by the numbers that the answer has. `changed`: by an override."""

    heading: str
    agent: str
    text: str
    done: bool = True
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is not there. `why` is a sentence for people."""

    heading: str
    agent: str
    why: str


@dataclass(frozen=True, slots=True)
class Brief:
    """All that the answer is made of."""

    question: str
    results: tuple[Result, ...]
    sources: tuple[Source, ...] = ()
    missing: tuple[Missing, ...] = ()
    notices: tuple[str, ...] = ()


async def write_answer(
    context: AgentContext,
    brief: Brief,
    *,
    profile: Mapping[str, Any],
    history: Sequence[Mapping[str, str]],
    options: Options,
) -> ModelReply:
    """Asks the model; people watch the answer grow. Raises StepFailed."""
    messages = (
        Message(role=Role.SYSTEM, content=with_project_rules(_system(brief, profile), options)),
        *(Message(role=Role(turn["role"]), content=turn["content"]) for turn in earlier_turns(history)),
        *with_rules_of_another((Message(role=Role.USER, content=_told(brief)),), options),
    )
    request = ModelRequest(
        tier=Tier(options.tier) if options.tier else Tier.PRO,
        messages=dated(messages, options.today),
        provider=options.provider,
        model=options.model,
        agent=NAME,
    )
    return await context.model(await with_said(context, request), stage=STAGE, last=True)


def _system(brief: Brief, profile: Mapping[str, Any]) -> str:
    changed = any(result.changed for result in brief.results)
    known = format_user_profile(profile)
    return fill(
        read_prompt(HERE / "composer_prompt.md"),
        override=f"\n{read_prompt(HERE / 'composer_override.md')}\n" if changed else "",
        profile=f"\n## The user's profile\n{known}" if known else "",
    ).strip()


def _told(brief: Brief) -> str:
    room = max(RESULT_CHARS, RESULTS_CHARS // max(1, len(brief.results)))
    sections = [f"## Question\n{brief.question}"]
    if brief.results:
        results = "\n\n".join(_result(result, room) for result in brief.results)
        sections.append(f"## Results\n{results}")
    if brief.sources:
        listed = "\n".join(f"[{place}] {_source(source)}" for place, source in enumerate(brief.sources, start=1))
        sections.append(f"## Sources\n{marked_untrusted(listed, source='sources')}")
    if brief.missing:
        listed = "\n".join(f"- {part.heading} ({part.agent}): {part.why}" for part in brief.missing)
        sections.append(f"## Not done\n{listed}")
    if brief.notices:
        sections.append("## To be mentioned\n" + "\n".join(f"- {notice}" for notice in brief.notices))
    return "\n\n".join(sections)


def _result(result: Result, room: int) -> str:
    note = "" if result.done else "This part is unfinished; here is only what there is of it.\n"
    text = marked_untrusted(at_a_boundary(result.text, room), source=result.agent)
    return f"### {result.heading}\n{note}{text}"


def _source(source: Source) -> str:
    place = ", ".join(
        part for part in (source.url or "", f"page {source.page}" if source.page else "", source.section or "") if part
    )
    excerpt = at_a_boundary(one_line(source.excerpt or ""), EXCERPT_CHARS)
    return f"{source.source}{f' ({place})' if place else ''}{f': {excerpt}' if excerpt else ''}"
