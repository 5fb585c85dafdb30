"""OpenAI's request schema, written by ourselves: for OpenAI-compatible servers, and as what LiteLLM translates from."""

import math
from collections.abc import Sequence
from typing import Any, Final

import orjson

from hyperagent.lib.llm.resolve import Target
from hyperagent.lib.llm.types import Message, ModelRequest, Role, SeenMessage, ToolSpec
from hyperagent.lib.llm.wire.faults import WireFault

SCHEMA_NAME = "answer"
# Fewer than any tokenizer makes of text in any language.
BYTES_PER_TOKEN: Final = 2.5


def headers(target: Target) -> dict[str, str]:
    key = target.provider.api_key
    wanted = {"Content-Type": "application/json"}
    return wanted | {"Authorization": f"Bearer {key.get_secret_value()}"} if key else wanted


def chat_body(target: Target, request: ModelRequest, *, temperature: float | None) -> bytes:
    thinking = target.provider.enable_thinking is not False
    body: dict[str, Any] = {
        "model": target.model,
        "messages": [message_of(message, thinking=thinking) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [tool_of(tool) for tool in request.tools]
        if not request.may_call:
            body["tool_choice"] = "none"
    if temperature is not None:
        body["temperature"] = temperature
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.response_schema is not None:
        body["response_format"] = response_format(request.response_schema)
    return orjson.dumps(body)


def message_of(message: Message, *, thinking: bool) -> dict[str, Any]:
    """One message; with `thinking`, what the model thought goes back as reasoning_content (S190)."""
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if isinstance(message, SeenMessage):
        said["content"] = _parts(message)
    if message.role is Role.TOOL:
        said["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        said["content"] = message.content or None
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.tool_calls
        ]
    if thinking and message.thinking and message.role is Role.ASSISTANT:
        said["reasoning_content"] = message.thinking
    return said


def _parts(message: SeenMessage) -> list[dict[str, Any]]:
    seen = [f"data:{picture.media_type};base64,{picture.content}" for picture in message.pictures]
    shown = [{"type": "image_url", "image_url": {"url": url}} for url in seen]
    return [{"type": "text", "text": message.content}, *shown]


def _object(arguments: str) -> str:
    """Arguments as they may be sent back. A model may write what is no JSON object, and providers refuse to read that
    again: then it is quoted in one."""
    try:
        readable = isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        readable = False
    return arguments if readable else orjson.dumps({"unreadable": arguments}).decode()


def tool_of(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def response_format(schema: dict[str, Any]) -> dict[str, Any]:
    strict = strict_schema(schema)
    wanted = {"name": SCHEMA_NAME, "schema": strict or schema, "strict": strict is not None}
    return {"type": "json_schema", "json_schema": wanted}


def strict_schema(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The schema as strict mode wants it: every object closed and all of its properties required. None where that
    would change what it means (objects with free keys)."""
    try:
        strict = _strict(schema)
    except _FreeKeys:
        return None
    return strict if isinstance(strict, dict) else None


class _FreeKeys(Exception):
    """An object whose keys the schema does not name."""


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "object" and "properties" not in node:
        raise _FreeKeys
    if node.get("additionalProperties") not in (None, False):
        raise _FreeKeys
    strict = {key: _strict_child(key, value) for key, value in node.items() if key != "default"}
    if "properties" in node:
        strict["additionalProperties"] = False
        strict["required"] = list(node["properties"])
    return strict


def _strict_child(key: str, value: Any) -> Any:
    if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
        return {name: _strict(child) for name, child in value.items()}
    return value if key in ("enum", "const", "examples") else _strict(value)


def vectors(body: bytes, *, texts: Sequence[str]) -> tuple[list[list[float]], int]:
    """From an embeddings response, in the order of the texts, with the tokens that it took. Raises WireFault."""
    try:
        said = orjson.loads(body)
        ordered = [row["embedding"] for row in sorted(said["data"], key=lambda row: row["index"])]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise WireFault(f"no embeddings in {body[:200]!r}") from error
    if len(ordered) != len(texts):
        raise WireFault(f"{len(ordered)} embeddings for {len(texts)} texts")
    return ordered, tokens_of(said.get("usage"), texts)


def tokens_of(usage: Any, texts: Sequence[str]) -> int:
    """As the provider says; else as many as the texts may be at most."""
    said = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return said if isinstance(said, int) and said >= 0 else most_tokens(texts)


def most_tokens(texts: Sequence[str]) -> int:
    return sum(math.ceil(len(text.encode(errors="replace")) / BYTES_PER_TOKEN) + 1 for text in texts)
