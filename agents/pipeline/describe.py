"""A document in two or three sentences (S164): what it is, its topics, what it covers. A run of its own, by one call.

What of the document is shown is chosen by whoever starts it (`agents.describing`) and stands in the run's input.
"""

from pathlib import Path
from typing import Any, Final

from agents.craft.briefing import quoted
from agents.craft.prompts import read_prompt
from agents.roles.asking import request_of, sections, user
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import beginning, one_line
from hyperagent.lib.llm.types import Tier

NAME: Final = "describe"
SHOWN_CHARS: Final = 8_000
DESCRIPTION_CHARS: Final = 700
PROMPT = Path(__file__).parents[1] / "roles" / "describer_prompt.md"


async def run(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """`turn`: `filename` and `excerpt` of the document. The answer is its description."""
    told = sections(
        ("File", quoted("filename", str(turn.get("filename", "")), limit=300)),
        ("What it says", quoted("document", str(turn.get("excerpt", "")), limit=SHOWN_CHARS)),
    )
    request = request_of(NAME, Tier.FLASH, read_prompt(PROMPT), user(told)).model_copy(update={"max_tokens": 400})
    reply = await context.model(request, stage=NAME, shown=False)
    text = beginning(one_line(reply.text), DESCRIPTION_CHARS)
    return {"answer": text, "sources": [], "model": reply.model}
