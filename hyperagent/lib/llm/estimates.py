"""Tokens where nobody has counted them: of a request by its bytes, of an answer by what came of it. Pure."""

import math
from collections.abc import Mapping
from typing import Any, Final

from hyperagent.lib.llm.plain import BYTES_PER_TOKEN
from hyperagent.lib.llm.types import Usage
from hyperagent.lib.llm.wire.reader import Answer
from hyperagent.lib.text import json_text

TOKENS_PER_MESSAGE: Final = 8
CHARS_PER_TOKEN: Final = 4


def prompt_tokens_of(asked: Mapping[str, Any]) -> int:
    """At most, of a request as it is recorded: by its bytes, at no more than 2.5 a token, which is more than tokenizers
    make of text in any language. Pictures do not count."""
    messages = asked.get("messages") or ()
    sizes = sum(_bytes(message.get("content") or "") + _bytes(message.get("thinking") or "") for message in messages)
    called = [message["tool_calls"] for message in messages if message.get("tool_calls")]
    beside = [value for value in (called, asked.get("tools"), asked.get("response_schema")) if value]
    sizes += sum(_bytes(json_text(value)) for value in beside)
    return math.ceil(sizes / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * (len(messages) + 1)


def received_tokens_of(answer: Answer) -> int:
    """What came of it: text, thinking and what was written of calls. Most providers send a piece for each token, some
    for several."""
    calls = sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)
    chars = len(answer.text) + len(answer.thinking or "") + calls
    return max(answer.pieces, chars // CHARS_PER_TOKEN)


def usage_of_broken(asked: Mapping[str, Any], answer: Answer) -> Usage:
    """Of an answer that broke off: what its provider said of it by then, where that is more than what came, and else
    what came. The prompt as the provider said, if it did."""
    told = answer.usage
    return told.model_copy(
        update={
            "prompt_tokens": told.prompt_tokens or prompt_tokens_of(asked),
            "completion_tokens": max(told.completion_tokens, received_tokens_of(answer)),
        }
    )


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
