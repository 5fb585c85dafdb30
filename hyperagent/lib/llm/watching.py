"""One call of a model as others see it from outside: a span, and what Prometheus counts. Knows no text of it, unless
the operator wants that in the spans."""

import time
from types import TracebackType
from typing import Any, Self

import orjson

from hyperagent.lib.llm.errors import ModelError
from hyperagent.lib.llm.resolve import Target
from hyperagent.lib.llm.types import ModelReply, ModelRequest
from hyperagent.lib.telemetry import measures, tracing

LEFT = "left"


class Watched:
    """Use as a context manager around the call; say what comes of it."""

    def __init__(self, target: Target, request: ModelRequest) -> None:
        self._labels = measures.models(target.provider.name, target.model)
        self._began_s = time.perf_counter()
        self.has_begun = False
        told: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": target.provider.name,
            "gen_ai.request.model": target.model,
            "gen_ai.request.stream": True,
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.agent.name": request.agent,
        }
        if tracing.captures_content():
            told["gen_ai.input.messages"] = orjson.dumps(_said(request)).decode()
        self._span = tracing.begin(f"chat {target.model}", kind=tracing.Kind.CLIENT, attributes=told)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # GeneratorExit and CancelledError: whoever asked wants no more of it.
            reason = error.reason.value if isinstance(error, ModelError) else LEFT
            reason = reason if isinstance(error, ModelError) or not isinstance(error, Exception) else "crashed"
            measures.MODEL_CALLS.labels(*self._labels, reason).inc()
            self._span.failed(reason)
        self._span.end()

    def asked(self) -> None:
        """It has its slot: what came before was waiting for that."""
        self._began_s = time.perf_counter()

    def begun(self) -> None:
        """The first piece is there."""
        self.has_begun = True
        first_s = time.perf_counter() - self._began_s
        measures.FIRST_TOKEN.labels(*self._labels).observe(first_s)
        self._span.set({"gen_ai.response.time_to_first_chunk": round(first_s, 4)})

    def answered(self, reply: ModelReply) -> None:
        measures.MODEL_CALLS.labels(*self._labels, "ok").inc()
        self.took(reply)
        told: dict[str, Any] = {
            "gen_ai.response.model": reply.model,
            "gen_ai.response.finish_reasons": [reply.finish_reason.value],
            "gen_ai.usage.input_tokens": reply.usage.prompt_tokens,
            "gen_ai.usage.output_tokens": reply.usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": reply.usage.cached_tokens,
            "hyperagent.cost_usd": None if reply.cost_usd is None else float(reply.cost_usd),
        }
        if tracing.captures_content():
            calls = [{"type": "tool_call", "id": call.id, "name": call.name} for call in reply.tool_calls]
            said = {"role": "assistant", "parts": [{"type": "text", "content": reply.text}, *calls]}
            told["gen_ai.output.messages"] = orjson.dumps([said]).decode()
        self._span.set(told)

    def took(self, reply: ModelReply) -> None:
        """Also what could not be used."""
        measures.MODEL_TOKENS.labels(*self._labels, "input").inc(reply.usage.prompt_tokens)
        measures.MODEL_TOKENS.labels(*self._labels, "output").inc(reply.usage.completion_tokens)
        if reply.cost_usd is None:
            measures.MODEL_UNPRICED.labels(*self._labels).inc()
        else:
            measures.MODEL_COST.labels(*self._labels).inc(float(reply.cost_usd))


def _said(request: ModelRequest) -> list[dict[str, object]]:
    return [
        {"role": message.role.value, "parts": [{"type": "text", "content": message.content}]}
        for message in request.messages
    ]
