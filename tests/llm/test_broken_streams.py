"""What an answer took that broke off before its provider had told: an estimate, marked as one, of each attempt."""

import asyncio
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from hyperagent.lib.llm import ModelError, ModelGateway, ModelReply, Usage, estimates
from hyperagent.lib.llm.errors import Reason
from hyperagent.lib.llm.taken import Taken
from hyperagent.lib.llm.wire.anthropic import AnthropicReader
from hyperagent.lib.llm.wire.openai import OpenAIReader
from hyperagent.lib.llm.wire.reader import StreamReader, Underway
from tests.llm.asking import ask, compatible, providers, seen
from tests.llm.conftest import MakeGateway
from tests.scripted import Script, ScriptedServer

pytestmark = pytest.mark.spec("B11")

QUESTION = "Where does the road behind the mill lead to?"
PROMPT_TOKENS = estimates.prompt_tokens_of(ask(QUESTION).model_dump(mode="json"))
FOUR = "one two three four"
ONCE = {"LLM_ATTEMPTS": "1", "LLM_TOKEN_TIMEOUT_SECONDS": "0.3", "LLM_FIRST_TOKEN_TIMEOUT_SECONDS": "0.3"}


class Way(BaseModel):
    way: int


@pytest.mark.parametrize(
    ("script", "tokens"),
    [
        pytest.param(Script(text=FOUR, cut_after=2), 2, id="cut"),
        pytest.param(Script(text=FOUR, thinking="hm so", cut_after=3), 3, id="cut, with thinking"),
        pytest.param(Script(text=FOUR, cut_after=0), 0, id="cut before the first word"),
        pytest.param(Script(text=FOUR, silence_after=3), 3, id="silence"),
        pytest.param(Script(text=FOUR, silence_after=0), 0, id="silence from the first word on"),
        pytest.param(Script(text=FOUR, error_after=1, error_message="overloaded"), 1, id="an error in the stream"),
        pytest.param(Script(text=FOUR, malformed_after=2), 2, id="nonsense in the stream"),
    ],
)
async def test_a_stream_that_breaks_counts_its_prompt_and_what_came(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, script: Script, tokens: int
) -> None:
    scripted_server.script(script)

    with pytest.raises(ModelError) as raised:
        await gateway_with(**ONCE).complete(ask(QUESTION))

    (paid,) = raised.value.paid
    assert paid.usage == Usage(prompt_tokens=PROMPT_TOKENS, completion_tokens=tokens)
    assert paid.is_estimate


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(Script(status=401), id="401"),
        pytest.param(Script(status=429), id="429"),
        pytest.param(Script(status=500), id="500"),
        pytest.param(Script(refuse=True), id="nobody there"),
    ],
)
async def test_what_was_refused_before_anything_was_made_counts_nothing(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, script: Script
) -> None:
    scripted_server.script(script)

    with pytest.raises(ModelError) as raised:
        await gateway_with(**ONCE).complete(ask(QUESTION))

    assert raised.value.paid == ()


def test_an_error_in_the_place_of_an_answer_is_a_refusal() -> None:
    """Some answer 200 and say in the stream's first event that they are busy."""
    underway = Underway(reader=OpenAIReader(call_prefix="t"), is_accepted=True)

    assert not underway.is_billed(Reason.RATE_LIMITED)
    assert not underway.is_billed(Reason.MALFORMED)
    assert underway.is_billed(Reason.STREAM_CUT)


async def test_each_attempt_and_fallback_counts(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    scripted_server.script(
        Script(model="m-pro", text=FOUR, cut_after=1),
        Script(model="m-pro", status=429),
        Script(model="m-pro", text=FOUR, cut_after=2),
        Script(model="second", text="That way.", cost_usd=0.02),
    )
    gateway = gateway_with(PRO_FALLBACKS="mine/second", LLM_ATTEMPTS="3")

    reply = await gateway.complete(ask(QUESTION))

    assert reply.text == "That way."
    assert reply.usage.prompt_tokens == 2 * PROMPT_TOKENS + 11
    assert (reply.is_estimate, reply.cost_usd) == (True, None)


async def test_when_all_of_them_break_the_error_has_each(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(
        Script(model="m-pro", text=FOUR, cut_after=1, times=2), Script(model="second", text=FOUR, cut_after=3, times=2)
    )

    with pytest.raises(ModelError) as raised:
        await gateway_with(PRO_FALLBACKS="mine/second", LLM_ATTEMPTS="2").complete(ask(QUESTION))

    assert [(reply.model, reply.usage.completion_tokens) for reply in raised.value.paid] == [
        ("m-pro", 1),
        ("m-pro", 1),
        ("second", 3),
        ("second", 3),
    ]


async def test_an_answer_that_was_counted_is_no_estimate(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text=FOUR))

    reply = await gateway_with().complete(ask(QUESTION))

    assert (reply.usage, reply.is_estimate) == (Usage(prompt_tokens=11, completion_tokens=4), False)
    assert "is_estimate" not in reply.model_dump(mode="json")


async def test_one_who_leaves_knows_what_was_taken(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    """After an attempt that broke by itself."""
    scripted_server.script(Script(text=FOUR, cut_after=1), Script(text=FOUR, held_after=3))

    taken = await left(scripted_server, gateway_with(), words=3)

    assert [reply.usage.completion_tokens for reply in taken] == [1, 3]
    assert [reply.usage.prompt_tokens for reply in taken] == [PROMPT_TOKENS] * 2
    assert all(reply.is_estimate for reply in taken)


@pytest.mark.slow
async def test_one_who_leaves_in_a_repair_knows_exactly_what_those_before_took(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(
        Script(text="I would rather walk.", cost_usd=0.25), Script(text='{"way": "to the left"}', held_after=2)
    )
    gateway = gateway_with()
    taken = Taken()

    asking = asyncio.create_task(gateway.structured(ask(QUESTION), Way, taken=taken))
    await seen(scripted_server, lambda server: len(server.calls) == 2 and server.calls[1].tokens_sent >= 2)
    await asyncio.sleep(0.1)
    await stopped(asking)

    first, second = taken
    assert (first.usage, first.cost_usd) == (Usage(prompt_tokens=11, completion_tokens=4), Decimal("0.25"))
    assert not first.is_estimate
    assert second.is_estimate
    assert second.usage.prompt_tokens > PROMPT_TOKENS  # it has the first answer, and what was wrong with it
    assert second.usage.completion_tokens == 3  # twelve letters


async def test_who_leaves_before_anything_was_sent_took_nothing(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    """It waited for the only call that the provider may serve at once."""
    scripted_server.script(Script(text=FOUR, held_after=0))
    gateway = gateway_with(**providers(compatible(scripted_server, max_concurrency=1)))
    taken = Taken()

    served = asyncio.create_task(gateway.complete(ask(QUESTION)))
    await seen(scripted_server, lambda server: len(server.calls) == 1)
    waiting = asyncio.create_task(gateway.complete(ask(QUESTION), taken=taken))
    await asyncio.sleep(0.05)
    await stopped(waiting)
    scripted_server.release()
    await served

    assert taken == []


def test_arguments_of_calls_count_as_what_came() -> None:
    function = {"name": "web_search", "arguments": '{"q": "' + "road " * 40}
    reader = OpenAIReader(call_prefix="t")
    reader.feed_event({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": function}]}}]})

    used = used_by(reader)

    assert used.prompt_tokens == PROMPT_TOKENS
    assert used.completion_tokens == (len("web_search") + len(function["arguments"].strip())) // 4


def test_what_the_provider_told_before_it_broke_stays_exact() -> None:
    reader = AnthropicReader(call_prefix="t")
    usage = {"input_tokens": 900, "cache_read_input_tokens": 50, "output_tokens": 1}
    reader.feed_event({"type": "message_start", "message": {"usage": usage}})
    for word in ("one ", "two ", "three"):
        delta = {"type": "text_delta", "text": word}
        reader.feed_event({"type": "content_block_delta", "index": 0, "delta": delta})

    assert used_by(reader) == Usage(prompt_tokens=950, completion_tokens=3, cached_tokens=50)


def used_by(reader: StreamReader) -> Usage:
    return estimates.usage_of_broken(ask(QUESTION).model_dump(mode="json"), reader.answer())


async def left(server: ScriptedServer, gateway: ModelGateway, *, words: int) -> list[ModelReply]:
    """What was taken by one who stopped once so many words of the newest answer had come."""
    taken = Taken()
    heard: list[Any] = []

    async def hears() -> None:
        async for delta in gateway.stream(ask(QUESTION), taken=taken):
            heard.append(delta)

    asking = asyncio.create_task(hears())
    await seen(server, lambda one: len(one.calls) == 2 and one.calls[1].tokens_sent >= words)
    await asyncio.sleep(0.1)
    await stopped(asking)
    return taken


async def stopped(asking: "asyncio.Task[Any]") -> None:
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
