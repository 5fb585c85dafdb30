"""What a person may want to ask next: a run of its own after a turn, so that no answer waits for it. One call.

When it is wanted and what becomes of it is decided by whoever starts it (`conversations.follow_ups`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from agents.craft.briefing import quoted
from agents.craft.exchange import Options
from agents.craft.prompts import read_prompt
from agents.roles.asking import conversation_of, request_of, sections, user
from agents.runtime.context import AgentContext
from agents.tools.taint import addresses_in
from hyperagent.lib.clipping import beginning, one_line
from hyperagent.lib.llm.types import Tier

NAME: Final = "follow_ups"
MOST: Final = 3
LONGEST_CHARS: Final = 120
QUESTION_CHARS: Final = 2_000
ANSWER_CHARS: Final = 6_000
PROMPT = Path(__file__).parent / "suggesting_prompt.md"


class Suggestions(BaseModel):
    """What the model answers."""

    questions: list[str] = Field(default=[], max_length=12)


async def run(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """`turn`: `asked` and `answered` of the newest turn, the `history` before it, and whose provider may see them in
    `options`. `questions` of the result: at most three, the best first."""
    told = sections(
        ("Before", conversation_of(turn["history"])),
        ("Question", quoted("question", str(turn["asked"]), limit=QUESTION_CHARS)),
        ("Answer", quoted("answer", beginning(str(turn["answered"]), ANSWER_CHARS), limit=ANSWER_CHARS)),
    )
    options = Options(provider=turn["options"].get("provider"))
    request = request_of(NAME, Tier.FLASH, read_prompt(PROMPT), user(told), options=options)
    found = await context.structured(request.model_copy(update={"max_tokens": 400}), Suggestions, stage=NAME)
    return {"answer": "", "sources": [], "questions": chosen(found.questions, asked=str(turn["asked"]))}


def chosen(questions: Sequence[str], *, asked: str) -> list[str]:
    """The first three that can be shown: one line each, none too long, none twice, none that was just asked. Pure.

    None with an address that was not asked about: it is taken over by a click, and then stands in the person's own
    words, at which no person is asked any more before it is opened. A model wrote it, after what others had written.
    """
    kept: dict[str, str] = {}
    known = addresses_in(asked)
    for question in questions:
        text = one_line(question).strip("\"'«»“”„ ")
        key = _key(text)
        if key and len(text) <= LONGEST_CHARS and key != _key(asked) and addresses_in(text) <= known:
            kept.setdefault(key, text)
    return list(kept.values())[:MOST]


def _key(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
