"""Gemini's streamGenerateContent as it comes back. Reads only."""

import json
from typing import Any

from hyperagent.lib.llm.types import FinishReason, Usage
from hyperagent.lib.llm.wire.faults import WireFault
from hyperagent.lib.llm.wire.reader import OpenCall, StreamReader, count

# Gemini refuses a call that comes back without the signature of its thought. LiteLLM carries it in the call's id and
# finds it there again when it builds the next request; this is its separator.
SIGNATURE_SEPARATOR = "__thought__"

_FILTERED = {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"}

# It wanted to call a tool and could not; what it said before is no answer.
_UNWRITTEN_CALL = "MALFORMED_FUNCTION_CALL"


class GeminiReader(StreamReader):
    def read(self, event: dict[str, Any]) -> None:
        if event.get("usageMetadata"):
            self._read_usage(event["usageMetadata"])
        if (event.get("promptFeedback") or {}).get("blockReason"):
            self.finish_reason = FinishReason.CONTENT_FILTER
        candidates = event.get("candidates")
        if not candidates:
            return
        for part in (candidates[0].get("content") or {}).get("parts") or ():
            self._read_part(part)
        finish = candidates[0].get("finishReason")
        if finish == _UNWRITTEN_CALL:
            raise WireFault(f"a call of a tool that came to nothing: {str(candidates[0].get('finishMessage'))[:200]}")
        if finish:
            self.finish_reason = _finish_of(finish)

    def _read_part(self, part: dict[str, Any]) -> None:
        function = part.get("functionCall")
        if function:
            signature = part.get("thoughtSignature")
            call_id = function.get("id") or f"call_{self._call_prefix}_{len(self.calls)}"
            if signature:
                call_id = f"{call_id}{SIGNATURE_SEPARATOR}{signature}"
            arguments = json.dumps(function.get("args") or {}, ensure_ascii=False)
            self.calls[len(self.calls)] = OpenCall(id=call_id, name=function["name"], arguments=[arguments])
        elif part.get("thought"):
            self.think(part.get("text"))
        else:
            self.say(part.get("text"))

    def _read_usage(self, usage: dict[str, Any]) -> None:
        self.usage = Usage(
            prompt_tokens=count(usage.get("promptTokenCount")),
            completion_tokens=count(usage.get("candidatesTokenCount")) + count(usage.get("thoughtsTokenCount")),
            cached_tokens=count(usage.get("cachedContentTokenCount")),
            reasoning_tokens=count(usage.get("thoughtsTokenCount")),
        )


def _finish_of(reason: str) -> FinishReason:
    if reason == "MAX_TOKENS":
        return FinishReason.LENGTH
    return FinishReason.CONTENT_FILTER if reason in _FILTERED else FinishReason.STOP
