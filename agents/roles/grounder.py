"""The grounder (B19): reads sentences beside the sources that they name and says whether those say it. One call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from agents.craft.briefing import quoted
from agents.craft.exchange import Options
from agents.craft.prompts import read_prompt
from agents.engine.events import Check
from agents.roles.asking import request_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import beginning, one_line
from hyperagent.lib.llm.types import Tier

NAME: Final = "grounder"
SENTENCES: Final = 20
SENTENCE_CHARS: Final = 800
SOURCE_CHARS: Final = 5_000
ALL_SOURCES_CHARS: Final = 40_000
WHY_CHARS: Final = 200
PROMPT = Path(__file__).parent / "grounder_prompt.md"


class Verdict(BaseModel):
    """`index`: the number under which the sentence was told, from 1."""

    index: int
    supported: bool
    why: str = ""


class Verdicts(BaseModel):
    verdicts: list[Verdict] = Field(default=[])


async def ask_grounder(
    context: AgentContext, unsure: Sequence[Check], sources: Mapping[int, str], *, options: Options
) -> dict[int, Verdict]:
    """Verdicts by place in `unsure`, from 0; a sentence that the model left out has none. Raises StepFailed."""
    told = unsure[:SENTENCES]
    request = request_of(NAME, Tier.FLASH, read_prompt(PROMPT), user(_told(told, sources)), options=options)
    answered = await context.structured(request, Verdicts, stage=NAME, aside=True)
    found = {verdict.index - 1: verdict for verdict in reversed(answered.verdicts)}
    return {place: _short(verdict) for place, verdict in found.items() if 0 <= place < len(told)}


def _told(unsure: Sequence[Check], sources: Mapping[int, str]) -> str:
    named = list(dict.fromkeys(number for check in unsure for number in check.citations))
    each = min(SOURCE_CHARS, ALL_SOURCES_CHARS // max(1, len(named)))
    return sections(
        ("Sources", "\n".join(f"[{number}]\n{quoted('source', sources[number], limit=each)}" for number in named)),
        ("Sentences", "\n".join(_sentence(number, check) for number, check in enumerate(unsure, start=1))),
    )


def _sentence(number: int, check: Check) -> str:
    names = " and ".join(f"[{citation}]" for citation in check.citations)
    return f"{number}. names {names}: {quoted('sentence', beginning(check.sentence, SENTENCE_CHARS))}"


def _short(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"why": beginning(one_line(verdict.why), WHY_CHARS)})
