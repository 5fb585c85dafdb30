"""What was not ready when a turn's answer was: the title of its conversation, what it says of its person. A run of its
own, so that no answer waits for it.

Who starts it, and what becomes of the title, is decided elsewhere (`conversations.afterwards`).
"""

from typing import Any, Final

from agents.craft.exchange import Options
from agents.pipeline.recall import recall
from agents.pipeline.remembering import Origin, learn
from agents.pipeline.titling import title_of
from agents.runtime.context import AgentContext

NAME: Final = "afterwards"
TITLE: Final = "title"
LEARN: Final = "learn"


async def run(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """`turn`: the question, its options and its day, `what` of TITLE and LEARN is wanted, and the `origin` of the
    question."""
    question, what = turn["question"], turn["what"]
    options = Options.model_validate({k: v for k, v in turn["options"].items() if k in Options.model_fields})
    options = options.model_copy(update={"today": turn.get("today", "")})

    async def title(branch: AgentContext) -> str:
        return await title_of(branch, question, wanted=TITLE in what, provider=options.provider)

    async def learned(branch: AgentContext) -> list[dict[str, Any]]:
        if LEARN not in what:
            return []
        known = await recall(branch, question)
        origin = Origin.from_json(turn["origin"])
        return await learn(branch, question, known, origin=origin, options=options)

    chosen, news = await context.all(title, learned)
    return {"answer": "", "sources": [], "title": chosen, "memory": {"learned": news}}
