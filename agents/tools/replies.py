"""A tool's result on its way: what is stored of it, and what its caller and people see. Pure."""

import json
from typing import Any, Final

from pydantic import BaseModel

from agents.engine.canonical import plain
from agents.engine.effects import Doubt
from agents.engine.events import Source
from agents.runtime.tool_door import ToolReply
from agents.tools.arguments import Refusal
from agents.tools.clip import MODEL_CHARS, STORED_CHARS, clip, clip_value
from agents.tools.tool import Reply, Tool
from agents.tools.untrusted import marked_untrusted
from hyperagent.lib.text import clean_text, clean_value

Stored = dict[str, Any]
EXCERPT_CHARS = 500
USE: Final = "use"
ALREADY_DONE: Final = "already_done"
IN_DOUBT: Final = "in_doubt"
SAY_SO: Final = "Do not do it again, and say in your answer that it may or may not have happened."


def stored(given: Any) -> Stored:
    """What a step keeps of what a tool gave: `content` for the model with its full length, `data`, `sources`.

    A text stands there once. Raises TypeError or ValueError for what is not JSON.
    """
    reply = given if isinstance(given, Reply) else _as_reply(given)
    data = clean_value(plain(_jsonable(reply.data)))
    text = _readable(data) if reply.content is None else clean_text(reply.content)
    kept: Stored = {
        "content": clip(text, STORED_CHARS),
        "chars": len(text),
        "sources": [_stored_source(source) for source in reply.sources],
    }
    if reply.use is not None:
        kept[USE] = reply.use.model_dump(mode="json")
    is_text = reply.data is None and reply.content is not None
    return kept if is_text else {**kept, "data": clip_value(data, STORED_CHARS)}


def reply_of(tool: Tool, kept: Stored, *, told: str = "") -> ToolReply:
    """What the caller gets: `content` as the model reads it, clipped and marked where others wrote it; before it what
    it is to be `told` of the call.
    """
    text = clip(kept["content"], MODEL_CHARS, total=kept["chars"])
    content = marked_untrusted(text, source=tool.name) if tool.untrusted else text
    return ToolReply(
        content=f"{told}\n\n{content}" if told else content,
        data=kept.get("data", kept["content"]),
        sources=tuple(Source.model_validate(source) for source in kept["sources"]),
    )


def refused(refusal: Refusal) -> ToolReply:
    """What went wrong, in words for the model (S79); `data` has the code for the program."""
    return ToolReply.failed(refusal.message, {**refusal.details, "error": refusal.code})


def found_done(kept: Stored) -> Stored:
    """What an effect gave that had happened before this call of it. Marked on its way only: the step has it plain."""
    return {**kept, ALREADY_DONE: True}


def was_found_done(kept: Stored) -> bool:
    return bool(kept.get(ALREADY_DONE))


def settled(tool: Tool, response: Stored) -> Stored | Refusal | None:
    """What an effect in doubt came to, if that is what the ledger says; None for an ordinary response."""
    match response.get("settled"):
        case None:
            return None
        case Doubt.HAPPENED:
            text = f"{tool.name} was interrupted, and it did happen. Do not do it again."
            return {"content": text, "chars": len(text), "sources": [], "data": {"settled": Doubt.HAPPENED.value}}
        case Doubt.SKIPPED:
            text = f"{tool.name} was interrupted, it may have happened, and a person decided to leave it at that."
            return Refusal("skipped_by_person", f"{text} Do not do it again.")
        case _:
            told = f"{tool.name} was interrupted, and it is not known whether it happened. It was not done again."
            return Refusal(IN_DOUBT, f"{told} {SAY_SO}", {"told": told, "tools": [tool.name]})


def _as_reply(given: Any) -> Reply:
    return Reply(content=given) if isinstance(given, str) else Reply(data=given)


def _jsonable(value: Any) -> Any:
    """The value with its Pydantic parts as JSON."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json")
        case dict():
            return {key: _jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [_jsonable(item) for item in value]
        case _:
            return value


def _readable(data: Any) -> str:
    return "Done." if data is None else json.dumps(data, ensure_ascii=False)


def _stored_source(source: Source) -> Any:
    fields = clean_value(source.model_dump(mode="json", exclude_none=True))
    return {**fields, "excerpt": fields["excerpt"][:EXCERPT_CHARS]} if "excerpt" in fields else fields
