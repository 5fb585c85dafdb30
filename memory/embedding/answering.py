"""The embedder's quick side: takes requests out of Redis and answers them at once, while batches run beside it."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import redis
from pydantic import ValidationError

from memory.embedding.asking import client_of_asking
from memory.embedding.messages import ALIVE, ALIVE_S, ASKED, REPLY_KEPT_S, Answer, Ask, ModelVectors
from memory.embedding.model import EmbeddingModel, Unusable
from memory.embedding.paying import Unaffordable

log = logging.getLogger(__name__)
# It says each time that it lives.
LOOK_EVERY_S: Final = ALIVE_S * 0.4
AGAIN_AFTER_S: Final = 1.0
_SHOWN_CHARS: Final = 80


class Answering:
    """A thread of its own. `models`: those that an answer has vectors of, the current one first."""

    def __init__(self, models: Callable[[], Sequence[EmbeddingModel]]) -> None:
        self._models = models
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="answering", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """After the request that it is at. Nobody need wait for it."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._answer_next()
            except redis.ResponseError as error:
                # Somebody else wrote a value of another kind there.
                log.warning("the list of requests in Redis is none: %s", error)
                self._forget_the_list()
            except (redis.RedisError, OSError) as error:
                log.warning("Redis is away: %s", error)
                self._stop.wait(AGAIN_AFTER_S)
            except Exception:
                # Whatever one request did to it, the next one is answered.
                log.exception("a request for vectors failed")
                self._stop.wait(AGAIN_AFTER_S)

    def _answer_next(self) -> None:
        client = client_of_asking()
        client.set(ALIVE, "1", ex=ALIVE_S)
        heard = cast(Any, client_of_asking(waits_s=LOOK_EVERY_S).brpop([ASKED], timeout=LOOK_EVERY_S))
        if heard is None:
            return
        try:
            ask = Ask.model_validate_json(heard[1])
        except ValidationError:
            log.warning("no request for vectors: %r", heard[1][:_SHOWN_CHARS])
            return
        try:
            answer = answer_to(ask, self._models())
        except Unusable as error:
            answer = Answer(problem=str(error))
        with client.pipeline(transaction=False) as pipeline:
            pipeline.rpush(ask.reply_to, answer.model_dump_json())
            pipeline.expire(ask.reply_to, REPLY_KEPT_S)
            pipeline.execute()

    def _forget_the_list(self) -> None:
        try:
            client_of_asking().delete(ASKED)
        except redis.RedisError as error:
            log.warning("it cannot be deleted: %s", error)
        self._stop.wait(AGAIN_AFTER_S)


def answer_to(ask: Ask, models: Sequence[EmbeddingModel]) -> Answer:
    """What a model of old cannot say is left out; without the current one there is no answer but the problem."""
    found: list[ModelVectors] = []
    for place, model in enumerate(models):
        try:
            vectors = model.whole(ask.texts, timeout_s=ask.timeout_s, payer=ask.payer)
        except Unaffordable as error:
            if place == 0:
                return Answer(problem=str(error), is_unaffordable=True)
            continue
        except Unusable as error:
            log.warning("no vectors for a question: %s", error)
            if place == 0:
                return Answer(problem=str(error))
            continue
        found.append(ModelVectors(model=model.name, vectors=tuple(tuple(vector) for vector in vectors)))
    return Answer(models=tuple(found), problem="" if found else "The embedder has no model yet.")
