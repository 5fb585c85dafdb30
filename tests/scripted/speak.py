"""How each provider says a thing: the bytes of streams, whole answers and errors. Knows neither script nor socket."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tests.scripted.script import ScriptedCall

_ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GEMINI_STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}


@dataclass(frozen=True)
class Ending:
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None


class Speaker(ABC):
    """One stream of one protocol. Methods are called in the order head, thinking, text, calls, tail."""

    def __init__(self, model: str, reply_id: str) -> None:
        self.model = model
        self.reply_id = reply_id

    def head(self) -> bytes:
        return b""

    @abstractmethod
    def thinking(self, token: str) -> bytes: ...

    def signature(self, signature: str) -> bytes:
        return b""

    @abstractmethod
    def text(self, token: str) -> bytes: ...

    @abstractmethod
    def calls(self, calls: Sequence[ScriptedCall]) -> bytes: ...

    @abstractmethod
    def tail(self, ending: Ending) -> bytes: ...

    @abstractmethod
    def whole(self, text: str, thinking: str | None, calls: Sequence[ScriptedCall], ending: Ending) -> Any: ...

    @abstractmethod
    def error(self, status: int, code: str | None, message: str) -> Any: ...

    def error_event(self, status: int, code: str | None, message: str) -> bytes:
        return event(self.error(status, code, message))


def event(payload: Any) -> bytes:
    return b"data: " + orjson.dumps(payload) + b"\n\n"


class OpenAISpeaker(Speaker):
    def __init__(self, model: str, reply_id: str, *, include_usage: bool) -> None:
        super().__init__(model, reply_id)
        self._include_usage = include_usage
        self._base = {"id": reply_id, "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model}
        # Encoded once: only the token differs.
        before, after = self._delta({"content": "\x00"}).split(b'"\\u0000"')
        self._before, self._after = before, after

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return event(self._base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    def head(self) -> bytes:
        return self._delta({"role": "assistant", "content": ""})

    def thinking(self, token: str) -> bytes:
        return self._delta({"reasoning_content": token})

    def text(self, token: str) -> bytes:
        return self._before + orjson.dumps(token) + self._after

    def calls(self, calls: Sequence[ScriptedCall]) -> bytes:
        said = b""
        for index, call in enumerate(calls):
            function = {"name": call.name, "arguments": ""}
            first = {"index": index, "id": call.id, "type": "function", "function": function}
            said += self._delta({"tool_calls": [first]})
            for part in halves(call.arguments):
                said += self._delta({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        return said

    def tail(self, ending: Ending) -> bytes:
        last = {"index": 0, "delta": {}, "finish_reason": ending.finish_reason}
        said = event(self._base | {"choices": [last]})
        if self._include_usage:
            said += event(self._base | {"choices": [], "usage": self._usage(ending)})
        return said + b"data: [DONE]\n\n"

    def whole(self, text: str, thinking: str | None, calls: Sequence[ScriptedCall], ending: Ending) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if thinking:
            message["reasoning_content"] = thinking
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": ending.finish_reason}
        return self._base | {"object": "chat.completion", "choices": [choice], "usage": self._usage(ending)}

    def error(self, status: int, code: str | None, message: str) -> Any:
        kinds = {401: "invalid_request_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    @staticmethod
    def _usage(ending: Ending) -> dict[str, Any]:
        usage: dict[str, Any] = {
            "prompt_tokens": ending.prompt_tokens,
            "completion_tokens": ending.completion_tokens,
            "total_tokens": ending.prompt_tokens + ending.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": ending.cached_tokens},
        }
        return usage | {"cost": ending.cost_usd} if ending.cost_usd is not None else usage


class AnthropicSpeaker(Speaker):
    def __init__(self, model: str, reply_id: str) -> None:
        super().__init__(model, reply_id)
        self._index = -1
        self._open: str | None = None

    def head(self) -> bytes:
        # Without its counts: the script's usage comes in message_delta, which wins.
        message = {"id": self.reply_id, "type": "message", "role": "assistant", "model": self.model, "content": []}
        usage = {"input_tokens": 0, "output_tokens": 1}
        start = {"type": "message_start", "message": message | {"stop_reason": None, "usage": usage}}
        return self._named(start) + self._named({"type": "ping"})

    def thinking(self, token: str) -> bytes:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        return self._block("thinking", block) + self._block_delta({"type": "thinking_delta", "thinking": token})

    def signature(self, signature: str) -> bytes:
        return self._block_delta({"type": "signature_delta", "signature": signature})

    def text(self, token: str) -> bytes:
        opened = self._block("text", {"type": "text", "text": ""})
        return opened + self._block_delta({"type": "text_delta", "text": token})

    def calls(self, calls: Sequence[ScriptedCall]) -> bytes:
        said = b""
        for call in calls:
            said += self._close_block()
            said += self._block("tool_use", {"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
            for part in halves(call.arguments):
                said += self._block_delta({"type": "input_json_delta", "partial_json": part})
        return said

    def tail(self, ending: Ending) -> bytes:
        delta = {"stop_reason": _ANTHROPIC_STOPS.get(ending.finish_reason, "end_turn"), "stop_sequence": None}
        last = {"type": "message_delta", "delta": delta, "usage": self._usage(ending)}
        return self._close_block() + self._named(last) + self._named({"type": "message_stop"})

    def whole(self, text: str, thinking: str | None, calls: Sequence[ScriptedCall], ending: Ending) -> Any:
        content: list[dict[str, Any]] = [{"type": "thinking", "thinking": thinking}] if thinking else []
        content += [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
            for call in calls
        ]
        message = {"id": self.reply_id, "type": "message", "role": "assistant", "model": self.model, "content": content}
        return message | {"stop_reason": _ANTHROPIC_STOPS.get(ending.finish_reason), "usage": self._usage(ending)}

    def error(self, status: int, code: str | None, message: str) -> Any:
        kind = code or _ANTHROPIC_ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self, status: int, code: str | None, message: str) -> bytes:
        return self._named(self.error(status, code, message))

    def _block(self, kind: str, block: dict[str, Any]) -> bytes:
        if self._open == kind:
            return b""
        closed = self._close_block()
        self._open = kind
        self._index += 1
        return closed + self._named({"type": "content_block_start", "index": self._index, "content_block": block})

    def _block_delta(self, delta: dict[str, Any]) -> bytes:
        return self._named({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _close_block(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return self._named({"type": "content_block_stop", "index": self._index})

    @staticmethod
    def _named(payload: dict[str, Any]) -> bytes:
        return f"event: {payload['type']}\n".encode() + event(payload)

    @staticmethod
    def _usage(ending: Ending) -> dict[str, int]:
        return {
            "input_tokens": ending.prompt_tokens - ending.cached_tokens,
            "cache_read_input_tokens": ending.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens": ending.completion_tokens,
        }


class GeminiSpeaker(Speaker):
    def _parts(self, parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0} | more
        return {"candidates": [candidate], "modelVersion": self.model, "responseId": self.reply_id}

    def thinking(self, token: str) -> bytes:
        return event(self._parts([{"text": token, "thought": True}]))

    def text(self, token: str) -> bytes:
        return event(self._parts([{"text": token}]))

    def calls(self, calls: Sequence[ScriptedCall]) -> bytes:
        return event(self._parts(self._call_parts(calls))) if calls else b""

    def tail(self, ending: Ending) -> bytes:
        return event(self._parts([{"text": ""}], finishReason=self._reason(ending)) | self._usage(ending))

    def whole(self, text: str, thinking: str | None, calls: Sequence[ScriptedCall], ending: Ending) -> Any:
        parts: list[dict[str, Any]] = [{"text": thinking, "thought": True}] if thinking else []
        parts += [{"text": text}] if text else []
        parts += self._call_parts(calls)
        return self._parts(parts, finishReason=self._reason(ending)) | self._usage(ending)

    def error(self, status: int, code: str | None, message: str) -> Any:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
        name = code or names.get(status, "RESOURCE_EXHAUSTED" if status == 429 else "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name}}

    @staticmethod
    def _call_parts(calls: Sequence[ScriptedCall]) -> list[dict[str, Any]]:
        return [
            {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}, "thoughtSignature": "c2ln"}
            for call in calls
        ]

    def _reason(self, ending: Ending) -> str:
        return _GEMINI_STOPS.get(ending.finish_reason, "STOP")

    @staticmethod
    def _usage(ending: Ending) -> dict[str, Any]:
        counts = {
            "promptTokenCount": ending.prompt_tokens,
            "candidatesTokenCount": ending.completion_tokens,
            "totalTokenCount": ending.prompt_tokens + ending.completion_tokens,
        }
        if ending.cached_tokens:
            counts["cachedContentTokenCount"] = ending.cached_tokens
        return {"usageMetadata": counts}


def halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]
