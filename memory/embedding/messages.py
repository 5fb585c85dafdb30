"""What is said between those who need a vector at once and the embedder, in Redis. Says nothing itself."""

from typing import Annotated, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

ASKED: Final = "hyperagent:embedding:asked"
"""The list that requests are pushed to; the embedder of any machine takes the oldest."""
ALIVE: Final = "hyperagent:embedding:alive"
"""Is there while an embedder listens."""
ALIVE_S: Final = 10
# Nobody waits that long: what lies there is left over.
ASKED_KEPT_S: Final = 30
ASKED_KEPT: Final = 1_000
REPLY_KEPT_S: Final = 30
MOST_TEXTS: Final = 64
MOST_CHARS: Final = 20_000


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ask(_Said):
    """`reply_to`: the list that the answer is pushed to. `timeout_s`: how long somebody waits for it. `payer`: whose
    question it is."""

    reply_to: str = Field(pattern=r"^hyperagent:embedding:reply:[0-9a-f]{32}$")
    texts: Annotated[tuple[str, ...], Field(min_length=1, max_length=MOST_TEXTS)]
    timeout_s: float = Field(gt=0, le=60)
    payer: UUID | None = None


class ModelVectors(_Said):
    """One vector for each text, in order."""

    model: str
    vectors: tuple[tuple[float, ...], ...]


class Answer(_Said):
    """The current model first; the others still have vectors of documents. None at all: `problem` says why, and
    `is_unaffordable` that it is so for this payer only."""

    models: tuple[ModelVectors, ...] = ()
    problem: str = ""
    is_unaffordable: bool = False


def reply_name(token: str) -> str:
    return f"hyperagent:embedding:reply:{token}"
