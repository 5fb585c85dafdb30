"""Anthropic's messages as they come back. Reads only."""

import json
from typing import Any

from hyperagent.lib.llm.types import FinishReason, Usage
from hyperagent.lib.llm.wire.reader import OpenCall, StreamReader, count

_FINISH = {
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.CONTENT_FILTER,
}


class AnthropicReader(StreamReader):
    """`answer_tool` is the tool by which models without native schemas are made to answer in JSON: what is written
    into it is the text."""

    def __init__(self, *, call_prefix: str, answer_tool: str | None = None) -> None:
        super().__init__(call_prefix=call_prefix)
        self._answer_tool = answer_tool
        self._answer_blocks: set[int] = set()
        self._usage: dict[str, Any] = {}

    def read(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "content_block_delta":
            self._read_delta(event["index"], event["delta"])
        elif kind == "content_block_start":
            self._read_block(event["index"], event["content_block"])
        elif kind == "message_start":
            self._read_usage(event["message"].get("usage"))
        elif kind == "message_delta":
            self._read_usage(event.get("usage"))
            self._read_stop(event["delta"].get("stop_reason"))
        elif kind == "message_stop":
            self.ended = True
        elif kind == "message":
            for index, block in enumerate(event["content"]):
                self._read_block(index, block)
            self._read_usage(event.get("usage"))
            self._read_stop(event.get("stop_reason"))

    def _read_delta(self, index: int, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self.say(delta.get("text"))
        elif kind == "thinking_delta":
            self.think(delta.get("thinking"))
        elif kind == "signature_delta":
            self.signature = (self.signature or "") + delta["signature"]
        elif kind == "input_json_delta" and index in self._answer_blocks:
            self.say(delta.get("partial_json"))
        elif kind == "input_json_delta" and index in self.calls and delta.get("partial_json"):
            self.calls[index].arguments.append(delta["partial_json"])

    def _read_block(self, index: int, block: dict[str, Any]) -> None:
        """A block at its start, or whole when the answer came without a stream."""
        kind = block.get("type")
        if kind == "text":
            self.say(block.get("text"))
        elif kind == "thinking":
            self.think(block.get("thinking"))
            self.signature = block.get("signature") or self.signature
        elif kind == "tool_use":
            written = [json.dumps(block["input"], ensure_ascii=False)] if block.get("input") else []
            if block["name"] == self._answer_tool:
                self._answer_blocks.add(index)
                self.say("".join(written))
            else:
                self.calls[index] = OpenCall(id=block.get("id") or "", name=block["name"], arguments=written)

    def _read_stop(self, reason: str | None) -> None:
        if reason:
            self.finish_reason = _FINISH.get(reason, FinishReason.STOP)
            if self._answer_blocks and not self.calls and self.finish_reason is FinishReason.TOOL_CALLS:
                self.finish_reason = FinishReason.STOP

    def _read_usage(self, usage: dict[str, Any] | None) -> None:
        """message_delta repeats some counts of message_start, and only some: the later one wins, field by field."""
        self._usage |= {name: value for name, value in (usage or {}).items() if value is not None}
        cached = count(self._usage.get("cache_read_input_tokens"))
        written = count(self._usage.get("cache_creation_input_tokens"))
        self.usage = Usage(
            prompt_tokens=count(self._usage.get("input_tokens")) + cached + written,
            completion_tokens=count(self._usage.get("output_tokens")),
            cached_tokens=cached,
        )
