"""OpenAI's chat completions as they come back, and the dialects of the servers that speak it. Reads only."""

import json
from decimal import Decimal
from typing import Any

from hyperagent.lib.llm.types import FinishReason, Usage
from hyperagent.lib.llm.wire.reader import OpenCall, StreamReader, count

_FINISH = {
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
}
# The answer ends here, and not where its model would have ended it: DeepSeek has no room, vLLM or SGLang is stopped,
# Mistral or OpenRouter failed, Zhipu lost its line.
_BROKEN_OFF = {"insufficient_system_resource", "abort", "error", "network_error"}


class OpenAIReader(StreamReader):
    def read(self, event: dict[str, Any]) -> None:
        if event.get("usage"):
            self._read_usage(event["usage"])
        choices = event.get("choices")
        if not choices:
            return
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message")
        if delta:
            self._read_delta(delta)
        finish = choice.get("finish_reason")
        if finish in _BROKEN_OFF:
            self.is_broken_off = True
        elif finish:
            self.finish_reason = _FINISH.get(finish, FinishReason.STOP)

    def _read_delta(self, delta: dict[str, Any]) -> None:
        # DeepSeek, Qwen and vLLM say reasoning_content, OpenRouter, Groq and newer vLLM say reasoning.
        self.think(delta.get("reasoning_content") or delta.get("reasoning"))
        content = delta.get("content")
        if isinstance(content, list):  # Mistral's parts
            self._read_parts(content)
        else:
            self.say(content)
        self.say(delta.get("refusal"))
        for position, call in enumerate(delta.get("tool_calls") or ()):
            self._read_call(call, position)

    def _read_parts(self, parts: list[dict[str, Any]]) -> None:
        for part in parts:
            if part.get("type") == "thinking":
                for thought in part.get("thinking") or ():
                    self.think(thought.get("text"))
            else:
                self.say(part.get("text"))

    def _read_call(self, said: dict[str, Any], position: int) -> None:
        index = said.get("index")
        call = self._call_for(position if index is None else index, said.get("id") or "")
        function = said.get("function") or {}
        name = function.get("name") or ""
        if name != call.name:  # Some say it again with every piece of the arguments.
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # as an object, where text is due
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            call.arguments.append(arguments)

    def _call_for(self, index: Any, call_id: str) -> OpenCall:
        """The call at this index; a second id at the same index (Gemini's OpenAI face) begins another call."""
        keys = [key for key in self.calls if key[0] == index]
        call = self.calls[keys[-1]] if keys else None
        if call is None or (call_id and call.id and call_id != call.id):
            call = self.calls[index, len(keys)] = OpenCall()
        call.id = call.id or call_id
        return call

    def _read_usage(self, usage: dict[str, Any]) -> None:
        details = usage.get("prompt_tokens_details") or {}
        written = usage.get("completion_tokens_details") or {}
        self.usage = Usage(
            prompt_tokens=count(usage.get("prompt_tokens")),
            completion_tokens=count(usage.get("completion_tokens")),
            cached_tokens=count(details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),
            reasoning_tokens=count(written.get("reasoning_tokens")),
        )
        cost = usage.get("cost")
        if isinstance(cost, int | float) and cost >= 0:
            self.cost_usd = Decimal(str(cost))
