"""What a program is told in OpenAI's words: completions, the chunks of a stream, models, errors. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.runtime.cut_short import breaks_off
from conversations.completions.requests import OWNER

Json = dict[str, Any]
AGAIN: Final = "\n\n[The answer began again:]\n\n"
_BROKEN_OFF: Final = "The run failed. Try again."
_MARK: Final = re.compile(r"\[(\d{1,3})\]")
# The types of OpenAI's errors by status. Of all others it is the request's fault, and from 500 on the server's.
_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error(status: int, message: str, *, code: str | None = None, param: str | None = None) -> Json:
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def model(mode: str | None, *, created: int) -> Json:
    return {"id": f"{OWNER}/{mode}" if mode else OWNER, "object": "model", "created": created, "owned_by": OWNER}


def usage(used: Mapping[str, Any]) -> Json:
    """Of all models that took part, in tokens; `cost_usd` is null where a price is not known."""
    prompt, completion = used["prompt_tokens"], used["completion_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "cost_usd": used["cost_usd"],
    }


def completion(
    run: Mapping[str, Any], *, completion_id: str, model_name: str, created: int, warnings: Sequence[str]
) -> Json:
    """`run`: as `agents.log.shapes.finished` has it."""
    message = {
        "role": "assistant",
        "content": run["answer"],
        "refusal": None,
        "annotations": annotations(run["answer"], run["sources"]),
    }
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": created,
        "model": model_name,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(run["answer"])}],
        "usage": usage(run["usage"]),
        "hyperagent": own(run, warnings),
    }


def finish_of(answer: str) -> str:
    """`length` for one that its model could not end."""
    return "length" if breaks_off(answer) else "stop"


def own(run: Mapping[str, Any], warnings: Sequence[str]) -> Json:
    """What OpenAI has no words for."""
    named = {name: run.get(name) for name in ("execution_id", "conversation_id", "status", "sources", "skipped")}
    return {**named, "warnings": list(warnings)}


def annotations(answer: str, sources: Sequence[Mapping[str, Any]]) -> list[Json]:
    """A `url_citation` for each place of the answer that names a source of the web: [2] is the second."""
    found = []
    for mark in _MARK.finditer(answer):
        number = int(mark[1])
        source = sources[number - 1] if 0 < number <= len(sources) else {}
        if source.get("url"):
            place = {"start_index": mark.start(), "end_index": mark.end()}
            citation = {**place, "url": source["url"], "title": source["source"]}
            found.append({"type": "url_citation", "url_citation": citation})
    return found


class Stream:
    """From the events of a run to the chunks of its stream. What was sent cannot be taken back: an answer that begins
    again is sent from where it says something else, or, if there is no such place, once more and whole at its end.
    """

    def __init__(
        self, *, completion_id: str, model_name: str, created: int, tells_usage: bool, warnings: Sequence[str]
    ) -> None:
        self._head = {"id": completion_id, "object": "chat.completion.chunk", "created": created, "model": model_name}
        self._tells_usage = tells_usage
        self._warnings = warnings
        self._texts: dict[str | None, str] = {}
        self._sent = ""

    def begins(self) -> Json:
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def of(self, event: Mapping[str, Any]) -> list[Json]:
        """The chunks that this event is worth; of the last event the error, or the end of the stream.

        With the last event comes what the run says of itself (`agents.log.shapes.finished`), as far as it is known.
        """
        kind, agent = event["type"], event.get("agent_id")
        if kind == "resync":
            self._texts.clear()
        elif kind == "token" and event.get("channel", "answer") == "answer":
            self._texts[agent] = self._texts.get(agent, "") + event["content"]
            return self._more(self._texts[agent])
        elif kind == "token_reset" and event.get("channel", "answer") == "answer":
            self._texts[agent] = self._texts.get(agent, "")[: event["keep"]]
        elif kind == "error":
            return [error(502, event.get("message") or _BROKEN_OFF, code=event.get("code"))]
        elif kind == "complete":
            return self._end(event)
        return []

    def _more(self, text: str) -> list[Json]:
        """Held back while it says what was said before, or something else."""
        if len(text) <= len(self._sent) or not text.startswith(self._sent):
            return []
        fresh, self._sent = text[len(self._sent) :], text
        return [self._chunk({"content": fresh})]

    def _end(self, event: Mapping[str, Any]) -> list[Json]:
        answer = event["answer"]
        rest = answer[len(self._sent) :] if answer.startswith(self._sent) else f"{AGAIN}{answer}"
        chunks = [self._chunk({"content": rest})] if rest else []
        run = {
            "execution_id": event["execution_id"],
            "status": event.get("status", "completed"),
            "sources": event.get("sources", []),
            "conversation_id": event.get("conversation_id"),
            "skipped": event.get("skipped", []),
        }
        chunks.append({**self._chunk({}, finish=finish_of(answer)), "hyperagent": own(run, self._warnings)})
        if self._tells_usage:
            chunks.append({**self._head, "choices": [], "usage": usage({"cost_usd": None, **event["usage"]})})
        return chunks

    def _chunk(self, delta: Json, *, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head, "choices": [choice], **({"usage": None} if self._tells_usage else {})}
