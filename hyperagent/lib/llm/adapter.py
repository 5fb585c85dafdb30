"""LiteLLM's door: the only file that imports it, late and once. It knows how each provider wants a request and what a
token costs; we send the request and read the stream ourselves, for its stream wrapper costs a millisecond a chunk.

Decided: a request to an OpenAI-compatible server (OPENAI_COMPATIBLE_PROVIDERS, the bundled model) does not come here at
all. Its body is OpenAI's plain schema, which `plain.py` writes, and its price is in no table. So an installation
without a provider's key never loads LiteLLM, which takes 7-16 s and 200 MB.

A provider whose protocol is none of the three that we read, and a model that OpenAI serves only through another
interface, go through LiteLLM's own stream (`stream_through_litellm`); the conformance suite holds both paths equal.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import SimpleNamespace
from typing import Any

import orjson
from pydantic import SecretStr

from hyperagent.lib.llm import images, plain
from hyperagent.lib.llm.errors import ModelError, Reason, model_error, scrub
from hyperagent.lib.llm.images import Shape
from hyperagent.lib.llm.prices import MILLION, Price
from hyperagent.lib.llm.providers import Limits, Protocol, Provider
from hyperagent.lib.llm.resolve import Target
from hyperagent.lib.llm.retry import retry_after_s
from hyperagent.lib.llm.types import Message, ModelRequest, Piece, Role, Tier, ToolSpec, Usage
from hyperagent.lib.llm.wire.anthropic import AnthropicReader
from hyperagent.lib.llm.wire.faults import ErrorFields, reason_of
from hyperagent.lib.llm.wire.gemini import GeminiReader
from hyperagent.lib.llm.wire.openai import OpenAIReader
from hyperagent.lib.llm.wire.reader import StreamReader, Underway

_ADDRESSES = {
    Protocol.OPENAI: "https://api.openai.com/v1",
    Protocol.ANTHROPIC: "https://api.anthropic.com",
    Protocol.GEMINI: "https://generativelanguage.googleapis.com/v1beta",
}
_WARMED = (
    (Protocol.OPENAI, "gpt-5-mini"),
    (Protocol.ANTHROPIC, "claude-sonnet-4-5"),
    (Protocol.GEMINI, "gemini-2.5-flash"),
)
# The tool by which LiteLLM makes older Anthropic models answer in JSON.
_ANSWER_TOOL = "json_tool_call"


@dataclass(frozen=True, slots=True)
class WireCall:
    """What is sent, and who reads what comes back."""

    url: str
    headers: dict[str, str]
    body: bytes
    reader: StreamReader


@cache
def litellm_library() -> SimpleNamespace:
    """Imports LiteLLM; blocks for seconds the first time, so call it in a thread (runners do at their start)."""
    # Without it the import asks a server for prices; without the other each loop leaks sockets.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["DISABLE_AIOHTTP_TRANSPORT"] = "True"
    import litellm
    from litellm import utils
    from litellm.llms.vertex_ai.gemini.transformation import transform_request_body
    from litellm.main import responses_api_bridge_check
    from litellm.types.utils import LlmProviders

    # 11 MB: what a tokenizer's text was made of, and a second table of prices, for models that are not in the first.
    vars(utils).pop("json_data", None)
    utils.get_bundled_model_cost_map = cache(lambda: litellm.model_cost)
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    return SimpleNamespace(
        litellm=litellm,
        provider_config=lambda target: utils.ProviderConfigManager.get_provider_chat_config(
            target.model, LlmProviders(target.provider.name)
        ),
        optional_params=utils.get_optional_params,
        gemini_body=transform_request_body,
        bridge_check=responses_api_bridge_check,
    )


def is_loaded() -> bool:
    return litellm_library.cache_info().currsize > 0


def reads_itself(target: Target, request: ModelRequest) -> bool:
    """Whether we read this stream, or LiteLLM does: for strange protocols and for OpenAI's models with tools that only
    its responses interface serves."""
    protocol = target.provider.protocol
    if target.provider.plain or protocol in (Protocol.ANTHROPIC, Protocol.GEMINI):
        return True
    if protocol is not Protocol.OPENAI:
        return False
    info, _ = litellm_library().bridge_check(
        model=target.model,
        custom_llm_provider="openai",
        tools=[plain.tool_of(tool) for tool in request.tools] or None,
        api_base=target.provider.base_url,
    )
    return bool(info.get("mode") != "responses")


def wire_call(target: Target, request: ModelRequest, *, temperature: float | None, call_prefix: str) -> WireCall:
    """Raises ModelRefused for a request that LiteLLM cannot put into the provider's words. Takes 1-2 ms through LiteLLM
    for 60 messages of 2 KB, so it needs no thread; a tenth of that without it."""
    provider = target.provider
    if provider.plain:
        return WireCall(
            url=f"{provider.base_url}/chat/completions",
            headers=plain.headers(target),
            body=plain.chat_body(target, request, temperature=temperature),
            reader=OpenAIReader(call_prefix=call_prefix, think_tags=provider.enable_thinking is True),
        )
    try:
        return _built_by_litellm(target, request, temperature=temperature, call_prefix=call_prefix)
    except Exception as error:
        raise model_error(
            Reason.BAD_REQUEST,
            provider=provider.name,
            model=target.model,
            detail=scrub(f"{type(error).__name__}: {error}", provider.secrets),
        ) from error


def _built_by_litellm(
    target: Target, request: ModelRequest, *, temperature: float | None, call_prefix: str
) -> WireCall:
    library = litellm_library()
    provider = target.provider
    messages = [_message(message, provider.protocol) for message in request.messages]
    params = library.optional_params(
        model=target.model,
        custom_llm_provider=provider.name,
        messages=messages,
        stream=True,
        **_options(request, temperature),
    )
    params.pop("extra_body", None)
    as_tool = params.pop("json_mode", False) and "output_format" not in params
    known = {"api_base": provider.base_url, "custom_llm_provider": provider.name}
    if provider.protocol is Protocol.GEMINI:
        params.pop("stream", None)
        body = library.gemini_body(
            messages=messages,
            model=target.model,
            custom_llm_provider=provider.name,
            litellm_params=known,
            cached_content=None,
            optional_params=params,
        )
        headers = {"Content-Type": "application/json", "x-goog-api-key": _key(target)}
        return WireCall(_url(target), headers, orjson.dumps(body), GeminiReader(call_prefix=call_prefix))
    config = library.provider_config(target)
    headers = config.validate_environment(
        api_key=_key(target),
        headers={},
        model=target.model,
        messages=messages,
        optional_params=params,
        litellm_params=known,
        api_base=provider.base_url,
    )
    if provider.protocol is Protocol.OPENAI:
        params["stream_options"] = {"include_usage": True}
    body = config.transform_request(
        model=target.model, messages=messages, optional_params=params, litellm_params=known, headers=headers
    )
    reader: StreamReader = OpenAIReader(call_prefix=call_prefix)
    if provider.protocol is Protocol.ANTHROPIC:
        reader = AnthropicReader(call_prefix=call_prefix, answer_tool=_ANSWER_TOOL if as_tool else None)
    return WireCall(_url(target), headers, orjson.dumps(body), reader)


def cost_usd(target: Target, usage: Usage) -> Decimal | None:
    """By LiteLLM's price table; None where it has no price. Tokens written to a cache count as plain prompt tokens."""
    if target.provider.plain:
        return None
    litellm = litellm_library().litellm
    try:
        known = litellm.get_model_info(model=target.model, custom_llm_provider=target.provider.name)
        if not known.get("input_cost_per_token") and not known.get("output_cost_per_token"):
            return None
        prompt, completion = litellm.cost_per_token(
            model=target.model,
            custom_llm_provider=target.provider.name,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )
    except Exception:  # noqa: BLE001 - LiteLLM raises a bare Exception for a model that is not in its table
        return None
    return Decimal(str(round(prompt + completion, 10)))


def price_of(target: Target) -> Price | None:
    """By LiteLLM's price table, at its dearest where longer prompts cost more; None where it has no price."""
    if target.provider.plain:
        return None
    try:
        known = litellm_library().litellm.get_model_info(model=target.model, custom_llm_provider=target.provider.name)
    except Exception:  # noqa: BLE001 - LiteLLM raises a bare Exception for a model that is not in its table
        return None
    read, written = (_dearest(known, f"{side}_cost_per_token") for side in ("input", "output"))
    if not read and not written:
        return None
    thought = _dearest(known, "output_cost_per_reasoning_token")
    return Price(input=read, output=written, reasoning=thought or None)


def _dearest(known: Any, name: str) -> Decimal:
    """Dollars per million tokens."""
    found = [float(value) for key, value in known.items() if key.startswith(name) and isinstance(value, int | float)]
    return round(Decimal(repr(max(found, default=0.0))) * MILLION, 6)


def has_schemas(target: Target) -> bool:
    """Whether this model can be held to a JSON schema by its provider."""
    supports = litellm_library().litellm.supports_response_schema
    return bool(supports(model=target.model, custom_llm_provider=target.provider.name))


async def stream_through_litellm(
    target: Target,
    request: ModelRequest,
    underway: Underway,
    *,
    temperature: float | None,
    limits: Limits,
    call_prefix: str,
) -> AsyncGenerator[Piece, None]:
    """The reference path: LiteLLM sends and reads. The answer is `underway`. Raises ModelError."""
    reader = underway.reader = OpenAIReader(call_prefix=call_prefix)
    try:
        async with asyncio.timeout(limits.first_token_timeout_s):
            stream = await litellm_library().litellm.acompletion(
                model=f"{target.provider.name}/{target.model}",
                messages=[_message(message, target.provider.protocol) for message in request.messages],
                stream=True,
                stream_options={"include_usage": True},
                num_retries=0,
                max_retries=0,
                timeout=limits.first_token_timeout_s,
                _skip_mcp_handler=True,  # else tools make it import its proxy, which wants the package `mcp`
                **_address(target),
                **_options(request, temperature),
            )
    except Exception as error:
        raise _error(error, target, begun=False) from error
    underway.is_accepted = True
    async with aclosing(stream):
        begun = False
        while True:
            wait_s = limits.token_timeout_s if begun else limits.first_token_timeout_s
            try:
                async with asyncio.timeout(wait_s):
                    chunk = await anext(stream)
            except StopAsyncIteration:
                break
            except Exception as error:
                raise _error(error, target, begun=begun) from error
            begun = True
            for piece in reader.feed_event(chunk.model_dump()):
                yield piece
    reader.ended = True


async def embed(target: Target, texts: Sequence[str], *, timeout_s: float) -> tuple[list[list[float]], int]:
    """The vectors, and the tokens that they took. Raises ModelError."""
    library = await asyncio.to_thread(litellm_library)
    try:
        async with asyncio.timeout(timeout_s):
            response = await library.litellm.aembedding(
                model=f"{target.provider.name}/{target.model}", input=list(texts), max_retries=0, **_address(target)
            )
    except Exception as error:
        raise _error(error, target, begun=False) from error
    vectors = [row["embedding"] for row in sorted(response.data, key=lambda row: row["index"])]
    return vectors, plain.tokens_of(response.usage.model_dump() if response.usage else None, texts)


async def draw(target: Target, prompt: str, shape: Shape, *, timeout_s: float) -> tuple[dict[str, Any], Decimal | None]:
    """For those who do not speak OpenAI's API: an answer as that has them, and what it cost. Raises ModelError."""
    library = await asyncio.to_thread(litellm_library)
    try:
        async with asyncio.timeout(timeout_s):
            response = await library.litellm.aimage_generation(
                model=f"{target.provider.name}/{target.model}",
                prompt=prompt,
                n=1,
                size=images.size_of(target.model, shape),
                max_retries=0,
                timeout=timeout_s,
                drop_params=True,
                **_address(target),
            )
    except Exception as error:
        raise _error(error, target, begun=False) from error
    return response.model_dump(), _price_of_image(response, target)


def images_url(target: Target) -> str:
    """Of a server that speaks OpenAI's API."""
    return f"{target.provider.base_url or _ADDRESSES[Protocol.OPENAI]}/images/generations"


async def image_cost_usd(target: Target, answer: dict[str, Any]) -> Decimal | None:
    """What the image in this answer of OpenAI's cost, by LiteLLM's price table; None where it has no price."""
    if target.provider.plain:
        return None
    library = await asyncio.to_thread(litellm_library)
    try:
        return _price_of_image(library.litellm.ImageResponse(**answer), target)
    except (TypeError, ValueError):
        return None


def _price_of_image(response: Any, target: Target) -> Decimal | None:
    try:
        cost = litellm_library().litellm.completion_cost(
            completion_response=response,
            model=f"{target.provider.name}/{target.model}",
            custom_llm_provider=target.provider.name,
            call_type="aimage_generation",
        )
    except Exception:  # noqa: BLE001 - LiteLLM raises a bare Exception for a model that is not in its table
        return None
    return Decimal(str(round(cost, 10))) if cost else None


def has_vision(target: Target) -> bool:
    """Whether this model is known to look at pictures."""
    return bool(litellm_library().litellm.supports_vision(model=target.model, custom_llm_provider=target.provider.name))


def _options(request: ModelRequest, temperature: float | None) -> dict[str, Any]:
    wanted = {
        "temperature": temperature,
        "max_tokens": request.max_tokens,
        "tools": [plain.tool_of(tool) for tool in request.tools] or None,
        "tool_choice": "none" if request.tools and not request.may_call else None,
        "response_format": plain.response_format(request.response_schema) if request.response_schema else None,
        "drop_params": True,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _message(message: Message, protocol: Protocol) -> dict[str, Any]:
    """In OpenAI's schema. Thinking goes back only where the provider takes it: Anthropic, with its signature."""
    said = plain.message_of(message, thinking=False)
    sealed = message.role is Role.ASSISTANT and message.thinking and message.thinking_signature
    if sealed and protocol is Protocol.ANTHROPIC:
        block = {"type": "thinking", "thinking": message.thinking, "signature": message.thinking_signature}
        said["thinking_blocks"] = [block]
    return said


def _url(target: Target) -> str:
    protocol = target.provider.protocol
    base = target.provider.base_url or _ADDRESSES[protocol]
    if protocol is Protocol.OPENAI:
        return f"{base}/chat/completions"
    if protocol is Protocol.ANTHROPIC:
        return f"{base.removesuffix('/v1')}/v1/messages"
    return f"{base}/models/{target.model}:streamGenerateContent?alt=sse"


def _address(target: Target) -> dict[str, str]:
    """Where LiteLLM itself sends to; a provider that we do not configure finds its own in the environment."""
    if target.provider.protocol is Protocol.LITELLM:
        return {}
    found = {"api_key": _key(target)}
    return found | {"api_base": target.provider.base_url} if target.provider.base_url else found


def _key(target: Target) -> str:
    key = target.provider.api_key
    return key.get_secret_value() if key else ""


def _error(error: Exception, target: Target, *, begun: bool) -> ModelError:
    """What LiteLLM raised, as one of ours: by the exceptions behind it, by its status and by its words."""
    detail = scrub(f"{type(error).__name__}: {error}", target.provider.secrets)
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    status = getattr(error, "status_code", None)
    return model_error(
        _reason(error, begun=begun),
        provider=target.provider.name,
        model=target.model,
        status=status if isinstance(status, int) else None,
        detail=detail,
        retry_after_s=retry_after_s(headers.get("retry-after")),
    )


def _reason(error: Exception, *, begun: bool) -> Reason:
    causes = _causes(error)
    if causes & {"ConnectError", "ConnectTimeout", "ClientConnectorError"}:
        return Reason.NOT_CONNECTED
    if causes & {"TimeoutError", "ReadTimeout", "Timeout", "APITimeoutError"}:
        return Reason.SILENCE if begun else Reason.NO_FIRST_TOKEN
    if begun and causes & {"RemoteProtocolError", "ReadError", "ClientPayloadError", "ServerDisconnectedError"}:
        return Reason.STREAM_CUT
    if causes & {"JSONDecodeError"}:
        return Reason.MALFORMED
    status = getattr(error, "status_code", None)
    fields = ErrorFields(code=" ".join(causes).lower(), message=str(error))
    return reason_of(fields, status=status if isinstance(status, int) else None)


def _causes(error: BaseException) -> set[str]:
    """The names of the classes of an exception and of all that led to it."""
    names: set[str] = set()
    seen: set[int] = set()
    open_errors: list[BaseException | None] = [error]
    while open_errors:
        one = open_errors.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        names.add(type(one).__name__)
        open_errors += [one.__cause__, one.__context__, getattr(one, "original_exception", None)]
    return names


def preload() -> None:
    """Loads LiteLLM and builds one request of each kind, so that the first turn does not pay for it. Blocks for long:
    runners call it in a thread at their start where `LLMSettings.needs_litellm` says so."""
    litellm_library()
    request = ModelRequest(
        tier=Tier.PRO,
        messages=(Message(role=Role.USER, content="-"),),
        tools=(ToolSpec(name="none", description="-", parameters={"type": "object", "properties": {}}),),
    )
    for protocol, model in _WARMED:
        provider = Provider(name=protocol.value, protocol=protocol, api_key=SecretStr("none"))
        target = Target(provider, model)
        reads_itself(target, request)
        wire_call(target, request, temperature=None, call_prefix="")
        cost_usd(target, Usage(prompt_tokens=1, completion_tokens=1))
