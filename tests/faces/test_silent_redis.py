"""A Redis that takes connections and says nothing: what is asked meanwhile is answered, and waits for it once."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async

from hyperagent.lib.announcing import publish
from hyperagent.lib.redis_silence import forget_silence
from memory.embedding.asking import ask_again, query_vector
from tests.faces.test_search import POLICY, post, take_in
from tests.services import Services


@dataclass(frozen=True)
class Stoppable:
    """A Redis of a test's own. Who waits in vain gives the connection up, so its connections tell of the waits."""

    pid: int
    client: redis.Redis

    def stop(self) -> None:
        self.client.ping()
        os.kill(self.pid, signal.SIGSTOP)

    def connections_after(self, before: int = 0) -> int:
        os.kill(self.pid, signal.SIGCONT)
        return int(self.client.info("stats")["total_connections_received"]) - before


@pytest.fixture
def stoppable(settings: Any) -> Iterator[Stoppable]:
    services = Services()
    try:
        url = services.start_valkey()
        layer = settings.CHANNEL_LAYERS["default"]
        host = {**layer["CONFIG"]["hosts"][0], "address": url}
        settings.CHANNEL_LAYERS = {"default": {**layer, "CONFIG": {**layer["CONFIG"], "hosts": [host]}}}
        settings.CACHES = {**settings.CACHES, "default": {**settings.CACHES["default"], "LOCATION": url}}
        pid = services.processes[0].pid
        yield Stoppable(pid, redis.Redis.from_url(url))
        os.kill(pid, signal.SIGCONT)
    finally:
        services.stop()


@pytest.fixture(autouse=True)
def _as_if_it_always_answered() -> Iterator[None]:
    ask_again()
    forget_silence()
    yield
    ask_again()
    forget_silence()


@pytest.mark.slow
@pytest.mark.spec("S174")
@pytest.mark.usefixtures("in_threads")
async def test_a_search_goes_by_words_alone_and_waits_once(alice: Any, stoppable: Stoppable) -> None:
    await take_in(alice, POLICY, filename="travel.md")
    before = stoppable.connections_after()

    stoppable.stop()
    answer = await post(alice, {"query": "price of hotels"})

    assert answer.status_code == 200, answer.content
    assert "140 euro" in answer.json()["chunks"][0]["text"]
    assert await sync_to_async(stoppable.connections_after)(before) <= 1


@pytest.mark.django_db
def test_what_counts_requests_waits_once(alice: Any, api_of: Callable[..., Any], stoppable: Stoppable) -> None:
    api = api_of(alice)
    before = stoppable.connections_after()

    stoppable.stop()
    answers = [api.get("/api/v1/me").status_code for _ in range(3)]

    assert answers == [200, 200, 200]
    assert stoppable.connections_after(before) <= 1


def test_whatever_asked_first_the_others_do_not_wait(stoppable: Stoppable) -> None:
    before = stoppable.connections_after()

    stoppable.stop()
    vector = query_vector("Where does the cat sleep?", timeout_s=60)
    was_announced = publish("conversation.1", {"type": "x"})

    assert (vector, was_announced) == (None, False)
    assert stoppable.connections_after(before) == 1


def test_after_the_silence_it_is_asked_again(stoppable: Stoppable) -> None:
    stoppable.stop()
    assert not publish("conversation.1", {"type": "x"})

    stoppable.connections_after()
    forget_silence()

    assert publish("conversation.1", {"type": "x"})
