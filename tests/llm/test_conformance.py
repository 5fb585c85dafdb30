"""What we read ourselves equals what LiteLLM's own stream says, for each protocol."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hyperagent.lib.llm import (
    LLMSettings,
    Message,
    ModelError,
    ModelGateway,
    ModelRequest,
    Role,
    Tier,
    ToolCall,
    adapter,
    resolve,
)
from hyperagent.lib.llm.images import Shape
from hyperagent.lib.llm.types import Picture, SeenMessage
from hyperagent.lib.llm.wire.reader import Underway
from tests.llm.asking import KEY, SEARCH, ask
from tests.scripted import Script, ScriptedCall, ScriptedServer, ScriptedUsage

# LiteLLM keeps one HTTP client for its process, bound to the loop that used it first.
pytestmark = pytest.mark.asyncio(loop_scope="module")

MODELS = {"openai": "gpt-5-mini", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}
PATHS = ("fast", "litellm")


@dataclass
class Heard:
    text: str
    thinking: str | None
    calls: list[tuple[str, Any]]
    finish_reason: str
    usage: tuple[int, int, int]


def _settings(server: ScriptedServer, **more: str) -> LLMSettings:
    addresses = {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.url,
        "GEMINI_API_KEY": KEY,
        "GEMINI_BASE_URL": f"{server.url}/v1beta",
        "LLM_ATTEMPTS": "1",
        "LLM_FIRST_TOKEN_TIMEOUT_SECONDS": "5",
    }
    return LLMSettings.from_env(addresses | more)


def _request(protocol: str, **more: Any) -> ModelRequest:
    return ask("hello", provider=protocol, model=MODELS[protocol], **more)


async def _hear(path: str, settings: LLMSettings, request: ModelRequest) -> Heard:
    """Through one of the two paths; what it raises is a ModelError on both."""
    if path == "fast":
        gateway = ModelGateway(settings)
        try:
            reply = await gateway.complete(request)
        finally:
            await gateway.aclose()
        return _heard(reply)
    adapter.litellm_library()
    (target,) = resolve.targets(settings, request)
    underway = Underway()
    pieces = adapter.stream_through_litellm(
        target, request, underway, temperature=request.temperature, limits=settings.limits, call_prefix="t"
    )
    async for _ in pieces:
        pass
    return _heard(underway.answer())


def _heard(said: Any) -> Heard:
    return Heard(
        text=said.text,
        thinking=said.thinking,
        calls=[(call.name, json.loads(call.arguments)) for call in said.tool_calls],
        finish_reason=said.finish_reason.value,
        usage=(said.usage.prompt_tokens, said.usage.completion_tokens, said.usage.cached_tokens),
    )


USAGE = ScriptedUsage(prompt_tokens=120, completion_tokens=34, cached_tokens=20)
ANSWERS = {
    "text": Script(text="Grüße an alle: 你好 😀 and\n\n**bold**", usage=USAGE),
    "thinking": Script(text="So 42.", thinking="Six times seven is", usage=USAGE),
    "one call": Script(tool_calls=[ScriptedCall(name="web_search", arguments='{"q": "läuft"}')], usage=USAGE),
    "text and two calls": Script(
        text="Looking.",
        tool_calls=[
            ScriptedCall(name="web_search", arguments='{"q": "a"}'),
            ScriptedCall(name="web_search", arguments='{"q": "b \\" \\\\ c"}'),
        ],
        usage=USAGE,
    ),
    "a wrong tool name": Script(tool_calls=[ScriptedCall(name="no_such_tool", arguments='{"x": 1}')], usage=USAGE),
    "cut at its length": Script(text="half of", finish_reason="length", usage=USAGE),
    "slow drip": Script(text="drop by drop", drip_bytes=7, usage=USAGE),
}


@pytest.mark.spec("S189", "S190")
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("protocol", MODELS)
async def test_both_paths_hear_the_same_answer(scripted_server: ScriptedServer, protocol: str, answer: str) -> None:
    settings = _settings(scripted_server)
    tools = (SEARCH,) if ANSWERS[answer].tool_calls else ()
    scripted_server.script(ANSWERS[answer].model_copy(update={"times": 2}))

    fast, slow = [await _hear(path, settings, _request(protocol, tools=tools)) for path in PATHS]

    assert fast == slow
    assert fast.text == ANSWERS[answer].text
    assert fast.thinking == ANSWERS[answer].thinking
    assert [name for name, _ in fast.calls] == [call.name for call in ANSWERS[answer].tool_calls]
    assert fast.usage == (120, 34, 20)


@pytest.mark.parametrize("protocol", MODELS)
async def test_both_paths_send_the_same_request(scripted_server: ScriptedServer, protocol: str) -> None:
    settings = _settings(scripted_server)
    first = await _hear_call(scripted_server, settings, protocol)
    request = ModelRequest(
        tier=Tier.PRO,
        provider=protocol,
        model=MODELS[protocol],
        messages=(
            Message(role=Role.SYSTEM, content="Be short."),
            Message(role=Role.USER, content="hello"),
            first.as_message(),
            Message(role=Role.TOOL, content="found", tool_call_id=first.tool_calls[0].id),
            Message(role=Role.USER, content="and?"),
        ),
        tools=(SEARCH,),
        temperature=1.0,
        max_tokens=500,
        response_schema=None,
    )
    scripted_server.say("fine", times=2)

    for path in PATHS:
        await _hear(path, settings, request)

    fast, slow = scripted_server.calls[-2:]
    assert fast.path == slow.path
    assert fast.body == slow.body
    assert ("a-seal" in str(fast.body)) == (protocol == "anthropic")
    keys = ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "anthropic-beta")
    assert [fast.headers.get(key) for key in keys] == [slow.headers.get(key) for key in keys]


FORBIDDEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "openai": lambda body: body["tool_choice"] == "none",
    "anthropic": lambda body: body["tool_choice"] == {"type": "none"},
    "gemini": lambda body: body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}},
}


@pytest.mark.spec("S87", "S88")
@pytest.mark.parametrize("protocol", MODELS)
async def test_both_paths_show_tools_that_may_not_be_called(scripted_server: ScriptedServer, protocol: str) -> None:
    settings = _settings(scripted_server)
    scripted_server.say("fine", times=3)

    await _hear("fast", settings, _request(protocol, tools=(SEARCH,)))
    for path in PATHS:
        await _hear(path, settings, _request(protocol, tools=(SEARCH,), may_call=False))

    free, fast, slow = (call.body for call in scripted_server.calls)
    assert fast == slow
    assert FORBIDDEN[protocol](fast)
    assert fast["tools"] == free["tools"]
    assert not {"tool_choice", "toolConfig"} & set(free)


@pytest.mark.parametrize("protocol", MODELS)
async def test_without_tools_nothing_is_said_of_calling_them(scripted_server: ScriptedServer, protocol: str) -> None:
    settings = _settings(scripted_server)
    scripted_server.say("fine", times=4)

    for path in PATHS:
        for may_call in (True, False):
            await _hear(path, settings, _request(protocol, may_call=may_call))

    bodies = [call.body for call in scripted_server.calls]
    assert all(body == bodies[0] for body in bodies)
    assert not {"tools", "tool_choice", "toolConfig"} & set(bodies[0])


async def _hear_call(server: ScriptedServer, settings: LLMSettings, protocol: str) -> Any:
    call = ScriptedCall(name="web_search", arguments='{"q": "a"}')
    server.script(Script(text="Looking.", thinking="hm", thinking_signature="a-seal", tool_calls=[call]))
    gateway = ModelGateway(settings)
    reply = await gateway.complete(_request(protocol, tools=(SEARCH,)))
    await gateway.aclose()
    return reply


FAULTS = {
    "too many requests": Script(status=429, error_message="slow down"),
    "a fault of its own": Script(status=500),
    "overloaded": Script(status=503),
    "a wrong key": Script(status=401, error_code=None, error_message="no such key"),
    "an unknown model": Script(status=404, error_message="model not found"),
    "a bad request": Script(status=400, error_message="no such parameter"),
    "too long a prompt": Script(status=400, error_message="prompt is too long: 300000 tokens > 200000 maximum"),
    "refused": Script(refuse=True),
    "broken off": Script(text="one two three four", cut_after=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("protocol", MODELS)
async def test_both_paths_raise_the_same_class_of_error(
    scripted_server: ScriptedServer, protocol: str, fault: str
) -> None:
    settings = _settings(scripted_server)
    scripted_server.script(FAULTS[fault].model_copy(update={"times": 0}))  # LiteLLM may knock twice at a closed door

    errors = []
    for path in PATHS:
        with pytest.raises(ModelError) as raised:
            await _hear(path, settings, _request(protocol))
        errors.append(raised.value)

    assert type(errors[0]) is type(errors[1])
    assert all(KEY not in f"{error!r} {error.user_message} {error.detail}" for error in errors)
    assert f"'{protocol}'" in errors[0].user_message


async def test_what_a_provider_has_said_of_a_stream_that_then_broke_is_known(scripted_server: ScriptedServer) -> None:
    """Anthropic begins with it. The scripted one says a token then, where two came, and nothing of the prompt."""
    gateway = ModelGateway(_settings(scripted_server))
    scripted_server.script(Script(text="one two three four", cut_after=2))

    with pytest.raises(ModelError) as raised:
        await gateway.complete(_request("anthropic"))

    (paid,) = raised.value.paid
    assert (paid.text.strip(), paid.usage.completion_tokens) == ("one two", 2)
    assert paid.is_estimate
    assert paid.cost_usd is not None
    await gateway.aclose()


@pytest.mark.parametrize("protocol", MODELS)
async def test_an_answer_to_a_schema_is_its_text_on_both_paths(scripted_server: ScriptedServer, protocol: str) -> None:
    settings = _settings(scripted_server)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    scripted_server.script(Script(text='{"n": 3}', times=2))

    heard = [await _hear(path, settings, _request(protocol, response_schema=schema)) for path in PATHS]

    assert [answer.text for answer in heard] == ['{"n": 3}', '{"n": 3}']
    assert scripted_server.calls[0].body == scripted_server.calls[1].body


@pytest.mark.parametrize("protocol", MODELS)
async def test_a_call_that_was_no_json_can_be_sent_back(scripted_server: ScriptedServer, protocol: str) -> None:
    broken = ToolCall(id="c1", name="web_search", arguments='{"q": ')
    request = ModelRequest(
        tier=Tier.PRO,
        provider=protocol,
        model=MODELS[protocol],
        messages=(
            Message(role=Role.USER, content="hello"),
            Message(role=Role.ASSISTANT, tool_calls=(broken,)),
            Message(role=Role.TOOL, content="these arguments are no JSON", tool_call_id="c1"),
        ),
        tools=(SEARCH,),
    )
    scripted_server.say("I see.")

    heard = await _hear("fast", _settings(scripted_server), request)

    assert heard.text == "I see."
    assert "unreadable" in str(scripted_server.calls[0].body)


async def test_an_older_anthropic_model_answers_to_a_schema_through_a_tool(scripted_server: ScriptedServer) -> None:
    settings = _settings(scripted_server)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    request = ask("hello", provider="anthropic", model="claude-3-haiku-20240307", response_schema=schema)
    scripted_server.script(Script(tool_calls=[ScriptedCall(name="json_tool_call", arguments='{"n": 3}')], times=2))

    fast, slow = [await _hear(path, settings, request) for path in PATHS]

    assert json.loads(fast.text) == json.loads(slow.text) == {"n": 3}
    assert (fast.calls, fast.finish_reason) == (slow.calls, slow.finish_reason) == ([], "stop")


async def test_a_provider_of_another_protocol_is_served_through_litellm(
    scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_BASE", f"{scripted_server.url}/v1")
    gateway = ModelGateway(LLMSettings.from_env({"PRO_MODEL": "groq/openai/gpt-oss-120b"}))
    scripted_server.script(Script(text="Good day.", thinking="polite", usage=USAGE))

    reply = await gateway.complete(ask("hello"))

    assert (reply.provider, reply.text, reply.thinking) == ("groq", "Good day.", "polite")
    assert (reply.cost_usd or 0) > 0
    await gateway.aclose()


async def test_a_model_that_needs_the_responses_interface_for_tools_goes_through_litellm(
    scripted_server: ScriptedServer,
) -> None:
    settings = LLMSettings.from_env({"OPENAI_API_KEY": KEY})
    adapter.litellm_library()

    with_tools = ask("hello", provider="openai", model="gpt-5.4", tools=(SEARCH,))
    without = ask("hello", provider="openai", model="gpt-5.4")

    assert not adapter.reads_itself(resolve.targets(settings, with_tools)[0], with_tools)
    assert adapter.reads_itself(resolve.targets(settings, without)[0], without)


# ── Pictures

PICTURE = b"\x89PNG\r\n\x1a\n and so on"


@pytest.mark.parametrize("name", ["openai", "gemini", "anthropic"])
async def test_pictures_go_to_each_provider_and_come_from_it_in_its_own_words(
    scripted_server: ScriptedServer, name: str
) -> None:
    """Through LiteLLM; with the price that its table knows."""
    base = {"openai": "/v1", "gemini": "/v1beta", "anthropic": ""}[name]
    env = {f"{name.upper()}_API_KEY": "k", f"{name.upper()}_BASE_URL": f"{scripted_server.url}{base}"}
    models = ModelGateway(LLMSettings.from_env(env))
    encoded = base64.b64encode(PICTURE).decode()
    shown = Picture(media_type="image/png", content=encoded)
    asked = SeenMessage(role=Role.USER, content="What?", pictures=(shown,))
    request = ModelRequest(tier=Tier.PRO, agent="vision", messages=(asked,))
    scripted_server.script(Script(text="A wall.", match="What?"))

    assert await models.sees(request) is True
    assert (await models.complete(request)).text == "A wall."
    assert shown.content in json.dumps(scripted_server.calls[0].body)
    if name != "anthropic":
        scripted_server.script(Script(image=encoded, usage=ScriptedUsage(completion_tokens=1000), match="A wall"))
        made = await models.draw("A wall", Shape.LANDSCAPE)
        assert (made.content, made.usage.completion_tokens) == (PICTURE, 1000)
        assert made.cost_usd is not None
        assert made.cost_usd > 0
    await models.aclose()
