"""Long streams are read at the beats of their process: fewer pieces, the same answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from hyperagent.lib.llm import LLMSettings, ModelGateway, ModelReply
from hyperagent.lib.llm.pace import Pace
from hyperagent.lib.llm.types import TextDelta
from tests.llm.asking import ask, deltas_of, env_for, seen, text_of
from tests.scripted import Script, ScriptedServer

WORDS = " ".join(f"word{number}" for number in range(60))
HOUR_S = 3600.0
MakePaced = Callable[[float], ModelGateway]


@pytest.fixture
async def paced(scripted_server: ScriptedServer) -> AsyncIterator[MakePaced]:
    """A gateway whose streams are read so seldom."""
    made: list[ModelGateway] = []

    def make(interval_s: float) -> ModelGateway:
        settings = LLMSettings.from_env(env_for(scripted_server))
        made.append(ModelGateway(settings, pace=Pace(lambda crowd: interval_s)))
        return made[-1]

    yield make
    for gateway in made:
        await gateway.aclose()


async def test_whoever_waits_for_a_beat_goes_on_with_all_others() -> None:
    pace = Pace(lambda crowd: 0.05)
    await pace.beat()  # at once: nobody waited before
    went: list[str] = []

    async def wait(name: str) -> None:
        await pace.beat()
        went.append(name)

    early = asyncio.create_task(wait("early"))
    await asyncio.sleep(0.01)
    late = asyncio.create_task(wait("late"))
    await early
    await asyncio.sleep(0)

    assert went == ["early", "late"]
    await late


async def test_the_next_beat_is_as_far_as_the_crowd_at_the_last_one_makes_it() -> None:
    crowds: list[int] = []

    def interval_s(crowd: int) -> float:
        crowds.append(crowd)
        return 0.01

    pace = Pace(interval_s)
    await pace.beat()
    await asyncio.gather(*(pace.beat() for _ in range(3)))
    await pace.beat()

    assert crowds == [0, 1, 3]


async def test_who_leaves_before_the_beat_holds_up_nobody() -> None:
    pace = Pace(lambda crowd: 0.05)
    await pace.beat()
    leaving, staying = asyncio.create_task(pace.beat()), asyncio.create_task(pace.beat())
    await asyncio.sleep(0)

    leaving.cancel()

    await asyncio.wait_for(staying, timeout=10)
    assert leaving.cancelled()


async def test_a_long_answer_comes_in_fewer_pieces_and_says_the_same(
    scripted_server: ScriptedServer, paced: MakePaced
) -> None:
    scripted_server.script(Script(text=WORDS, tokens_per_s=100))

    *pieces, reply = await deltas_of(paced(0.2), ask())

    assert text_of(pieces) == WORDS
    assert isinstance(reply, ModelReply)
    assert reply.text == WORDS
    assert len(pieces) < 30


async def test_who_leaves_while_a_stream_waits_for_its_beat_stops_the_provider(
    scripted_server: ScriptedServer, paced: MakePaced
) -> None:
    scripted_server.script(Script(text=WORDS, tokens_per_s=20))
    said: list[str] = []

    async def listen() -> None:
        async with aclosing(paced(HOUR_S).stream(ask())) as items:
            async for item in items:
                assert isinstance(item, TextDelta)
                said.append(item.text)

    listening = asyncio.create_task(listen())
    # The first beat comes at once, the second in an hour.
    async with asyncio.timeout(10):
        while not said or scripted_server.calls[-1].tokens_sent <= len(said) + 2:
            await asyncio.sleep(0.01)

    listening.cancel()

    await seen(scripted_server, lambda server: server.calls[-1].disconnected)


async def test_a_connection_that_was_read_at_beats_serves_the_next_call(
    scripted_server: ScriptedServer, paced: MakePaced
) -> None:
    scripted_server.script(Script(text=WORDS, tokens_per_s=200), Script(text=WORDS, tokens_per_s=200))
    gateway = paced(0.05)

    replies = [await gateway.complete(ask()) for _ in range(2)]

    assert [reply.text for reply in replies] == [WORDS, WORDS]
    first, second = scripted_server.calls
    assert first.peer == second.peer
