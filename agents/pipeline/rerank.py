"""The order of a search's passages by a model (S172), as a run of its own, for `POST /api/v1/search`."""

from typing import Any, Final

from agents.craft.exchange import Options
from agents.roles.reranker import KEEP, Candidate, asked
from agents.runtime.context import AgentContext

NAME: Final = "rerank"


async def run(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """`turn`: the query as `question`, `passages` as [[label, text], …], and how many to `keep`.

    `ranked_indices` of the result: places in `passages`, from 0, the best first.
    """
    passages = [Candidate(label, text) for label, text in turn["passages"]]
    keep = int(turn.get("keep", KEEP))
    order = await asked(context, turn["question"], passages, keep=keep, options=Options())
    return {"answer": "", "sources": [], "ranked_indices": list(order)}
