"""The gateway against a provider that misbehaves on order."""

import asyncio
import json
import logging
import subprocess
import sys
from contextlib import aclosing
from decimal import Decimal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hyperagent.lib.llm import (
    ContextTooLong,
    FinishReason,
    LLMSettings,
    Message,
    ModelBusy,
    ModelError,
    ModelGarbled,
    ModelGateway,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    NoModelConfigured,
    Restarted,
    Role,
    TextDelta,
    ThinkingDelta,
    Tier,
)
from hyperagent.lib.llm.errors import Reason
from hyperagent.lib.llm.types import Delta
from tests.llm.asking import KEY, SEARCH, ask, compatible, deltas_of, env_for, providers, seen, text_of
from tests.llm.conftest import MakeGateway
from tests.scripted import Script, ScriptedCall, ScriptedServer, ScriptedUsage


async def test_a_stream_gives_its_pieces_and_then_the_reply(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(
        Script(text="Hello world", thinking="hm", usage=ScriptedUsage(prompt_tokens=9, cached_tokens=4))
    )

    *pieces, reply = await deltas_of(gateway_with(), ask("hello"))

    assert pieces[0] == ThinkingDelta("hm")
    assert text_of(pieces[1:]) == "Hello world"
    assert isinstance(reply, ModelReply)
    assert (reply.text, reply.thinking, reply.finish_reason) == ("Hello world", "hm", FinishReason.STOP)
    assert (reply.provider, reply.model) == ("mine", "m-pro")
    assert reply.usage.model_dump() == {
        "prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 4, "reasoning_tokens": 0,
    }  # fmt: skip
    assert reply.cost_usd is None


async def test_a_providers_own_price_is_the_cost(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    scripted_server.say("hello", cost_usd=0.0125)

    reply = await gateway_with().complete(ask())

    assert reply.cost_usd == Decimal("0.0125")


@pytest.mark.spec("S190")
async def test_thinking_goes_back_with_the_message_it_led_to(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with()
    scripted_server.script(Script(text="Four.", thinking="two and two"), Script(text="Five."))
    first = await gateway.complete(ask("2+2?"))
    question = ask("2+2?").messages[0]

    await gateway.complete(
        ModelRequest(tier=Tier.PRO, messages=(question, first.as_message(), Message(role=Role.USER, content="sure?")))
    )

    assert scripted_server.calls[1].messages[1] == {
        "role": "assistant",
        "content": "Four.",
        "reasoning_content": "two and two",
    }


@pytest.mark.spec("S190")
async def test_thinking_stays_here_where_the_provider_does_not_want_it(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(**providers(compatible(scripted_server, enable_thinking=False)))
    said = Message(role=Role.ASSISTANT, content="Four.", thinking="two and two")
    scripted_server.say("ok")

    await gateway.complete(ModelRequest(tier=Tier.PRO, messages=(said, *ask("sure?").messages)))

    assert "reasoning_content" not in scripted_server.calls[0].messages[0]


async def test_a_tool_call_and_its_result_are_sent_in_openais_words(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with()
    scripted_server.script(
        Script(tool_calls=[ScriptedCall(id="c1", name="web_search", arguments='{"q": "a"}')]), Script(text="done")
    )
    called = await gateway.complete(ask("search", tools=(SEARCH,), temperature=0.2, max_tokens=77))
    result = Message(role=Role.TOOL, content="found", tool_call_id="c1")

    await gateway.complete(
        ModelRequest(tier=Tier.PRO, messages=(*ask("search").messages, called.as_message(), result), tools=(SEARCH,))
    )

    first, second = (call.body for call in scripted_server.calls)
    assert (first["temperature"], first["max_tokens"], first["stream_options"]) == (0.2, 77, {"include_usage": True})
    assert first["tools"][0]["function"]["name"] == "web_search"
    assert second["messages"][1]["tool_calls"][0]["function"] == {"name": "web_search", "arguments": '{"q": "a"}'}
    assert second["messages"][2] == {"role": "tool", "content": "found", "tool_call_id": "c1"}


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_busy_provider_is_asked_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, status: int
) -> None:
    scripted_server.script(Script(status=status), Script(text="at last"))

    reply = await gateway_with().complete(ask())

    assert reply.text == "at last"


async def test_a_provider_that_stays_busy_is_given_up_after_bounded_attempts(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(status=429, times=3))

    with pytest.raises(ModelBusy) as raised:
        await gateway_with().complete(ask())

    assert raised.value.reason is Reason.RATE_LIMITED
    assert "'mine' is busy" in raised.value.user_message
    assert len(scripted_server.calls) == 3


async def test_a_retry_after_that_is_too_long_is_not_waited_for(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(status=429, retry_after="3600"))

    with pytest.raises(ModelBusy) as raised:
        await gateway_with().complete(ask())

    assert raised.value.retry_after_s == 3600


async def test_nor_is_one_that_google_asks_for_in_what_it_answers() -> None:
    asked: list[str] = []
    wanted = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600.5s"}
    error = {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [{}, wanted]}

    async def refuse(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response([{"error": error}], status=429)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", refuse)
    async with TestServer(app) as server:
        google = {"name": "google", "base_url": str(server.make_url("/v1")), "tier_models": {"pro": "m"}}
        gateway = ModelGateway(LLMSettings.from_env(providers(google)), chance=lambda: 0.0)
        with pytest.raises(ModelBusy) as raised:
            await gateway.complete(ask())
        await gateway.aclose()

    assert (raised.value.reason, raised.value.retry_after_s, len(asked)) == (Reason.RATE_LIMITED, 3600.5, 1)


async def test_what_came_of_a_stream_that_broke_stands_until_there_is_something_in_its_place(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text="one two three", cut_after=2), Script(status=503), Script(text="one"))

    async with aclosing(gateway_with().stream(ask())) as items:
        calls_then = [len(scripted_server.calls) async for item in items if item == Restarted("stream_cut")]

    assert calls_then == [3], "it was taken back for what the third call gave"


async def test_what_came_last_stands_where_no_attempt_comes_to_its_end(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(
        Script(text="one two three", cut_after=1), Script(text="one two three", cut_after=2), Script(status=503)
    )
    items: list[Delta] = []

    async def read() -> None:
        async for item in gateway_with().stream(ask()):
            items.append(item)

    with pytest.raises(ModelBusy):
        await read()

    restart = items.index(Restarted("stream_cut"))
    assert (text_of(items[:restart]), text_of(items[restart + 1 :])) == ("one ", "one two ")


async def test_a_stream_that_breaks_is_taken_back_and_begun_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text="one two three four", cut_after=2), Script(text="one two three four"))

    items = await deltas_of(gateway_with(), ask())

    restart = items.index(Restarted("stream_cut"))
    *anew, reply = items[restart + 1 :]
    assert text_of(items[:restart]) == "one two "
    assert text_of(anew) == "one two three four"
    assert isinstance(reply, ModelReply)
    assert reply.text == "one two three four"
    assert reply.usage.completion_tokens == 2 + 4  # those that were taken back were made, too


@pytest.mark.parametrize("fault", ["malformed_after", "error_after"])
async def test_a_stream_that_goes_wrong_within_is_begun_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, fault: str
) -> None:
    scripted_server.script(Script(text="one two three", **{fault: 1}), Script(text="better"))

    reply = await gateway_with().complete(ask())

    assert reply.text == "better"


async def test_silence_before_the_first_token_is_not_waited_out(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(LLM_FIRST_TOKEN_TIMEOUT_SECONDS="0.2", LLM_ATTEMPTS="1")
    scripted_server.script(Script(text="never", first_delay_s=60))

    with pytest.raises(ModelBusy) as raised:
        await gateway.complete(ask())

    assert raised.value.reason is Reason.NO_FIRST_TOKEN
    await seen(scripted_server, lambda server: server.calls[0].disconnected)


async def test_silence_between_tokens_ends_the_attempt(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(LLM_TOKEN_TIMEOUT_SECONDS="0.2")
    scripted_server.script(Script(text="one two three", silence_after=2), Script(text="whole"))

    items = await deltas_of(gateway, ask())

    assert Restarted("silence") in items
    assert items[-1].text == "whole"  # type: ignore[union-attr]
    await seen(scripted_server, lambda server: server.calls[0].disconnected)


async def test_a_stream_that_is_open_long_before_its_first_token_has_the_time_for_that(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(LLM_TOKEN_TIMEOUT_SECONDS="0.2", LLM_FIRST_TOKEN_TIMEOUT_SECONDS="30", LLM_ATTEMPTS="1")
    scripted_server.script(Script(text="It took some thought.", held_after=0))

    asking = asyncio.create_task(gateway.complete(ask()))
    await seen(scripted_server, lambda server: bool(server.calls))
    await asyncio.sleep(0.6)
    scripted_server.release()

    assert (await asking).text == "It took some thought."


@pytest.mark.parametrize(
    ("tokens", "reason"), [(0, Reason.NO_FIRST_TOKEN), (2, Reason.SILENCE)], ids=["from the start", "between tokens"]
)
async def test_a_provider_that_only_keeps_the_line_open_is_not_waited_for(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, tokens: int, reason: Reason
) -> None:
    gateway = gateway_with(LLM_KEEP_ALIVE_TIMEOUT_SECONDS="0.2", LLM_ATTEMPTS="1")
    scripted_server.script(Script(text="one two three", kept_open_after=tokens))

    with pytest.raises(ModelBusy) as raised:
        async with asyncio.timeout(20):
            await gateway.complete(ask())

    assert raised.value.reason is reason
    await seen(scripted_server, lambda server: server.calls[0].disconnected)


async def test_an_answer_that_is_slow_but_alive_is_heard_to_its_end(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(LLM_TOKEN_TIMEOUT_SECONDS="0.5", LLM_ATTEMPTS="1")
    scripted_server.script(Script(text=" ".join(["word"] * 14), tokens_per_s=20))

    reply = await gateway.complete(ask())

    assert reply.usage.completion_tokens == 14


async def test_a_cancelled_task_stops_the_provider_at_once(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text=" ".join(["word"] * 10_000), tokens_per_s=50))
    gateway = gateway_with()
    first_token = asyncio.Event()

    async def listen() -> None:
        async for _ in gateway.stream(ask()):
            first_token.set()

    task = asyncio.create_task(listen())
    await asyncio.wait_for(first_token.wait(), 10)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await seen(scripted_server, lambda server: server.calls[0].disconnected)
    assert scripted_server.calls[0].tokens_sent < 1000


async def test_leaving_the_stream_stops_the_provider_at_once(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text=" ".join(["word"] * 10_000), tokens_per_s=50))

    async with aclosing(gateway_with().stream(ask())) as items:
        await anext(items)

    await seen(scripted_server, lambda server: server.calls[0].disconnected)
    assert scripted_server.calls[0].tokens_sent < 1000


async def test_a_connection_is_used_again(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    gateway = gateway_with()
    scripted_server.say("hello", times=5)

    for _ in range(5):
        await gateway.complete(ask())

    assert len({call.peer for call in scripted_server.calls}) == 1


async def test_an_empty_answer_is_asked_for_once_more(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text=""), Script(text="something"))

    reply = await gateway_with().complete(ask())

    assert reply.text == "something"


async def test_two_empty_answers_are_an_error(scripted_server: ScriptedServer, gateway_with: MakeGateway) -> None:
    scripted_server.script(Script(text="  ", cost_usd=0.01, times=2))

    with pytest.raises(ModelGarbled) as raised:
        await gateway_with().complete(ask())

    assert raised.value.reason is Reason.EMPTY_ANSWER
    assert took(*raised.value.paid) == (22, Decimal("0.02"))


async def test_an_answer_counts_what_the_ones_before_it_took(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text="", cost_usd=0.01), Script(text="something", cost_usd=0.02))

    reply = await gateway_with().complete(ask())

    assert took(reply) == (22, Decimal("0.03"))


async def test_an_answer_whose_predecessor_has_no_known_price_has_none(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text=""), Script(text="something", cost_usd=0.02))

    assert took(await gateway_with().complete(ask())) == (22, None)


async def test_when_all_fail_the_error_has_what_was_paid_for_each(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(PRO_FALLBACKS="mine/second")
    scripted_server.script(
        Script(model="m-pro", text="", cost_usd=0.01, times=2),
        Script(model="second", text="", finish_reason="content_filter", cost_usd=0.05),
    )

    with pytest.raises(ModelGarbled) as raised:
        await gateway.complete(ask())

    assert raised.value.reason is Reason.EMPTY_ANSWER
    assert [reply.model for reply in raised.value.paid] == ["m-pro", "m-pro", "second"]
    assert took(*raised.value.paid) == (33, Decimal("0.07"))


def took(*replies: ModelReply) -> tuple[int, Decimal | None]:
    """Tokens of prompts, and dollars; None: not known."""
    costs = [reply.cost_usd for reply in replies]
    known = [cost for cost in costs if cost is not None]
    return sum(reply.usage.prompt_tokens for reply in replies), sum(known, Decimal(0)) if len(known) == len(
        costs
    ) else None


@pytest.mark.parametrize("finish", ["insufficient_system_resource", "abort", "error", "network_error"])
async def test_an_answer_that_its_provider_broke_off_is_asked_for_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, finish: str
) -> None:
    scripted_server.script(Script(text="half of", finish_reason=finish), Script(text="all of it"))

    reply = await gateway_with().complete(ask())

    assert (reply.text, len(scripted_server.calls)) == ("all of it", 2)


@pytest.mark.parametrize(("finish", "reason"), [("content_filter", Reason.FILTERED), ("length", Reason.ALL_THOUGHT)])
async def test_an_answer_that_was_withheld_is_not_asked_for_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, finish: str, reason: Reason
) -> None:
    scripted_server.script(Script(text="", finish_reason=finish))

    with pytest.raises(ModelGarbled) as raised:
        await gateway_with().complete(ask())

    assert raised.value.reason is reason
    assert took(*raised.value.paid) == (11, None)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (Script(status=401, error_message=f"Incorrect API key provided: {KEY}"), Reason.WRONG_KEY),
        (Script(status=404, error_code="model_not_found"), Reason.UNKNOWN_MODEL),
        (Script(status=429, error_code="insufficient_quota"), Reason.NO_CREDIT),
        (Script(status=402, error_message="Insufficient Balance"), Reason.NO_CREDIT),
        (Script(status=400, error_message="unknown parameter"), Reason.BAD_REQUEST),
        (Script(status=400, error_code="context_length_exceeded"), Reason.CONTEXT_TOO_LONG),
    ],
)
async def test_what_a_person_must_mend_is_not_tried_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, script: Script, reason: Reason
) -> None:
    scripted_server.script(script)

    with pytest.raises(ModelRefused) as raised:
        await gateway_with().complete(ask())

    assert raised.value.reason is reason
    assert isinstance(raised.value, ContextTooLong) == (reason is Reason.CONTEXT_TOO_LONG)
    assert "mine" in raised.value.user_message


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
async def test_a_question_that_the_content_filter_refused_is_told_so(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, code: str
) -> None:
    scripted_server.script(Script(status=400, error_code=code))

    with pytest.raises(ModelGarbled) as raised:
        await gateway_with().complete(ask())

    assert raised.value.reason is Reason.FILTERED
    assert raised.value.paid == ()


async def test_no_key_is_in_any_message_or_log(
    scripted_server: ScriptedServer, gateway_with: MakeGateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    scripted_server.script(Script(status=401, error_message=f"wrong key {KEY} in Bearer {KEY}"))

    with pytest.raises(ModelRefused) as raised:
        await gateway_with().complete(ask())

    error = raised.value
    assert "wrong key" in error.detail
    assert KEY not in f"{error!r} {error} {error.user_message} {error.detail} {vars(error)} {caplog.text}"


async def test_nobody_at_the_address_is_said_so(unused_tcp_port: int) -> None:
    mine = {"name": "mine", "base_url": f"http://127.0.0.1:{unused_tcp_port}/v1", "tier_models": {"pro": "m"}}
    gateway = ModelGateway(LLMSettings.from_env(providers(mine)), chance=lambda: 0.0)

    with pytest.raises(ModelUnavailable) as raised:
        await gateway.complete(ask())

    assert "'mine' cannot be reached" in raised.value.user_message
    await gateway.aclose()


async def test_a_server_that_hangs_up_is_asked_again(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(refuse=True), Script(text="hello"))

    reply = await gateway_with().complete(ask())

    assert reply.text == "hello"


@pytest.mark.slow
async def test_the_next_model_of_the_tier_is_asked_when_one_fails(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(PRO_FALLBACKS="mine/second,mine/third")
    scripted_server.script(
        Script(model="m-pro", status=503, times=3),
        Script(model="second", text="half an", cut_after=1, times=3),
        Script(model="third", text="whole answer"),
    )

    items = await deltas_of(gateway, ask())

    *before, reply = items
    last = max(number for number, item in enumerate(before) if item == Restarted("stream_cut"))
    assert isinstance(reply, ModelReply)
    assert reply.model == "third"
    assert text_of(before[last + 1 :]) == "whole answer"
    assert before.count(Restarted("stream_cut")) == 3


async def test_when_all_fail_the_chosen_models_error_is_told(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(PRO_FALLBACKS="mine/second")
    scripted_server.script(Script(model="m-pro", status=429, times=3), Script(model="second", status=401))

    with pytest.raises(ModelError) as raised:
        await gateway.complete(ask())

    assert (raised.value.model, raised.value.reason) == ("m-pro", Reason.RATE_LIMITED)


async def test_a_server_that_does_not_stream_is_understood(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    scripted_server.script(Script(text="all at once", thinking="hm", whole=True))

    *pieces, reply = await deltas_of(gateway_with(), ask())

    assert pieces == [ThinkingDelta("hm"), TextDelta("all at once")]
    assert isinstance(reply, ModelReply)
    assert reply.finish_reason is FinishReason.STOP


async def test_a_provider_with_a_limit_never_has_more_calls_at_once(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(**providers(compatible(scripted_server, max_concurrency=2)))
    scripted_server.script(Script(text="a b c d", tokens_per_s=100, times=8))

    await asyncio.gather(*(gateway.complete(ask()) for _ in range(8)))

    assert scripted_server.most_at_once == 2


async def test_embeddings_come_in_the_order_of_the_texts(
    scripted_server: ScriptedServer, gateway_with: MakeGateway
) -> None:
    gateway = gateway_with(EMBEDDING_MODEL="mine/embedder")

    vectors = await gateway.embed(["a", "b", "a"])

    assert vectors[0] == vectors[2] != vectors[1]
    assert scripted_server.calls[0].model == "embedder"


@pytest.mark.slow
async def test_embeddings_come_through_litellm_for_its_providers(scripted_server: ScriptedServer) -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{scripted_server.url}/v1"}
    gateway = ModelGateway(LLMSettings.from_env(env))

    vectors = await gateway.embed(["a", "b", "a"], model="openai/text-embedding-3-small")

    assert vectors[0] == vectors[2] != vectors[1]


async def test_local_embeddings_are_refused_with_the_way_out(gateway_with: MakeGateway) -> None:
    with pytest.raises(NoModelConfigured, match="EMBEDDING_MODEL"):
        await gateway_with().embed(["a"])


@pytest.mark.slow
def test_the_gateway_does_not_load_litellm(scripted_server: ScriptedServer) -> None:
    """Neither its import nor a whole call to an OpenAI-compatible server."""
    scripted_server.say("hello")
    program = (
        "import asyncio, json, sys\n"
        "from hyperagent.lib.llm import *\n"
        "settings = LLMSettings.from_env(json.loads(sys.argv[1]))\n"
        "request = ModelRequest(tier='pro', messages=(Message(role='user', content='hi'),))\n"
        "async def main():\n"
        "    gateway = ModelGateway(settings)\n"
        "    print((await gateway.complete(request)).text, 'litellm' in sys.modules, 'django' in sys.modules)\n"
        "    await gateway.aclose()\n"
        "asyncio.run(main())\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(env_for(scripted_server))],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["hello", "False", "False"]


@pytest.mark.slow
def test_a_call_that_is_interrupted_before_it_was_loaded_took_nothing() -> None:
    """It takes ten seconds. Nobody was asked."""
    program = (
        "import asyncio\n"
        "from hyperagent.lib.llm import *\n"
        "from hyperagent.lib.llm.taken import Taken\n"
        "gateway = ModelGateway(LLMSettings.from_env({'OPENAI_API_KEY': 'k', 'PRO_MODEL_PROVIDER': 'openai'}))\n"
        "request = ModelRequest(tier='pro', messages=(Message(role='user', content='hi'),))\n"
        "async def leaves():\n"
        "    taken = Taken()\n"
        "    asking = asyncio.create_task(gateway.complete(request, taken=taken))\n"
        "    await asyncio.sleep(0)\n"
        "    asking.cancel()\n"
        "    await asyncio.gather(asking, return_exceptions=True)\n"
        "    print(taken)\n"
        "asyncio.run(leaves())\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["[]"]
