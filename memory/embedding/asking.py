"""Asking the embedder for the vectors of a few short texts at once, through Redis. Loads no model and knows none."""

import logging
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

import redis
from pydantic import ValidationError

from hyperagent.lib.announcing import client_at, redis_options
from hyperagent.lib.pause import Pause
from hyperagent.lib.redis_silence import unless_silent
from hyperagent.lib.text import clean_text
from memory.embedding.messages import (
    ALIVE,
    ASKED,
    ASKED_KEPT,
    ASKED_KEPT_S,
    MOST_CHARS,
    MOST_TEXTS,
    Answer,
    Ask,
    reply_name,
)

log = logging.getLogger(__name__)

QUIET_S: Final = 4.0
_LONGEST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class QueryVector:
    """What `model` makes of a text, of unit length. `older`: what the models make of it whose vectors some documents
    still have instead, while they are embedded anew."""

    model: str
    values: list[float]
    older: tuple["QueryVector", ...] = ()


def query_vector(text: str, *, timeout_s: float = 3.0, payer: UUID | None = None) -> QueryVector | None:
    """None when no embedder answers in time, or the payer's budget is used up: then a search goes by words alone."""
    found = texts_vectors([text], timeout_s=timeout_s, payer=payer)
    return found[0] if found else None


def texts_vectors(
    texts: Sequence[str], *, timeout_s: float = 3.0, payer: UUID | None = None
) -> list[QueryVector] | None:
    """One for each of a few short texts, in order; what is very long counts by its beginning. None when no embedder
    answers in time, and at once for a few seconds after that."""
    if not texts or _quiet.lasts():
        return None if texts else []
    if len(texts) > MOST_TEXTS:
        raise ValueError(f"{len(texts)} texts are asked for at once; {MOST_TEXTS} is the most")
    try:
        answer = _ask([clean_text(text)[:MOST_CHARS] for text in texts], min(timeout_s, _LONGEST_S), payer)
        if answer is not None and answer.is_unaffordable:
            return None
        found = None if answer is None else _vectors(answer, len(texts))
    except (redis.RedisError, ValidationError) as error:
        log.warning("the embedder cannot be asked: %s", type(error).__name__)
        found = None
    if found is None:
        _quiet.begin()
    return found


def _ask(texts: list[str], timeout_s: float, payer: UUID | None) -> Answer | None:
    with unless_silent():
        return _asked(texts, timeout_s, payer)


def _asked(texts: list[str], timeout_s: float, payer: UUID | None) -> Answer | None:
    client = client_of_asking()
    if not client.exists(ALIVE):
        return None
    ask = Ask(reply_to=reply_name(uuid.uuid4().hex), texts=tuple(texts), timeout_s=timeout_s, payer=payer)
    said = ask.model_dump_json()
    with client.pipeline(transaction=False) as pipeline:
        pipeline.lpush(ASKED, said)
        pipeline.ltrim(ASKED, 0, ASKED_KEPT - 1)
        pipeline.expire(ASKED, ASKED_KEPT_S)
        pipeline.execute()
    heard = cast(Any, client_of_asking(waits_s=timeout_s).blpop([ask.reply_to], timeout=timeout_s))
    if heard is None:
        client.lrem(ASKED, 1, said)
        log.warning("the embedder gave no answer within %g s", timeout_s)
        return None
    return Answer.model_validate_json(heard[1])


def _vectors(answer: Answer, count: int) -> list[QueryVector] | None:
    """None for an answer without vectors, or with too few."""
    if not answer.models or any(len(one.vectors) != count for one in answer.models):
        log.warning("the embedder has no vectors: %s", answer.problem or "not one for each text")
        return None
    current, *older = answer.models
    return [
        QueryVector(
            current.model,
            list(current.vectors[place]),
            tuple(QueryVector(one.model, list(one.vectors[place])) for one in older),
        )
        for place in range(count)
    ]


# Whether nobody answered just now, so that not every search waits for it anew.
_quiet = Pause(QUIET_S)


def embedder_lives() -> bool:
    """Whether one gave a sign in the last seconds; false while Redis is away."""
    try:
        with unless_silent():
            return bool(client_of_asking().exists(ALIVE))
    except redis.RedisError:
        return False


def ask_again() -> None:
    """Forgets that nobody answered."""
    _quiet.end()


def client_of_asking(*, waits_s: float = 0.0) -> redis.Redis:
    """`waits_s`: for a command by which Redis itself waits so long. Without, it answers at once or counts as away."""
    address = redis_options()["address"]
    return client_at(address, answers_within_s=math.ceil(waits_s) + 1.0) if waits_s else client_at(address)
