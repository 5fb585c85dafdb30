"""The reranker (S172): puts the passages of a search in order by relevance, quality and completeness. One call."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from agents.craft.briefing import quoted
from agents.craft.exchange import Options
from agents.craft.prompts import fill, read_prompt
from agents.engine.errors import StepFailed
from agents.roles.asking import question_of, request_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import beginning
from hyperagent.lib.llm.types import Tier

NAME: Final = "reranker"
KEEP: Final = 8
PASSAGES: Final = 20
PASSAGE_CHARS: Final = 1_500
PROMPT = Path(__file__).parent / "reranker_prompt.md"


class Ranking(BaseModel):
    """What the model answers: numbers of passages, counted from 1, the best first."""

    ranked_indices: list[int] = Field(default=[])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage with the words for where it stands."""

    label: str
    text: str


async def ranked(
    context: AgentContext, query: str, passages: Sequence[Candidate], *, keep: int = KEEP, options: Options
) -> tuple[int, ...]:
    """Places in `passages`, from 0, at most `keep`. Where the model fails, the order stays as it was."""
    if len(passages) < 2:
        return tuple(range(len(passages)))[:keep]
    try:
        return await asked(context, query, passages, keep=keep, options=options)
    except StepFailed:
        return tuple(range(len(passages)))[:keep]


async def asked(
    context: AgentContext, query: str, passages: Sequence[Candidate], *, keep: int, options: Options
) -> tuple[int, ...]:
    """As `ranked`. Raises StepFailed."""
    told = passages[:PASSAGES]
    listed = "\n".join(_told(number, passage) for number, passage in enumerate(told, start=1))
    request = request_of(
        NAME,
        Tier.FLASH,
        fill(read_prompt(PROMPT), keep=str(keep)),
        user(sections(("Question", question_of(query)), ("Passages", listed))),
        options=options,
    )
    ranking = await context.structured(request, Ranking, stage=NAME)
    return in_order(ranking.ranked_indices, len(passages))[:keep]


def in_order(ranked_indices: Sequence[int], count: int) -> tuple[int, ...]:
    """All places from 0 to `count`: those that the model named (from 1), then the others as they stood."""
    named = [number - 1 for number in ranked_indices if 1 <= number <= count]
    return tuple(dict.fromkeys([*named, *range(count)]))


def _told(number: int, passage: Candidate) -> str:
    text = f"{passage.label}\n{beginning(passage.text, PASSAGE_CHARS)}"
    return f"{number}.\n{quoted('passage', text)}"
