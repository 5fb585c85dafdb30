"""An answer as a Pydantic value: what to ask, how to read it, and what to say when it does not fit. No I/O."""

import json
import re
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from hyperagent.lib.llm.types import Message, ModelReply, ModelRequest, Role

T = TypeVar("T", bound=BaseModel)

REPAIRS = 2
_PROMPTS = resources.files("hyperagent.lib.llm") / "prompts"
_ASK = (_PROMPTS / "schema.md").read_text(encoding="utf-8").strip()
_REPAIR = (_PROMPTS / "repair.md").read_text(encoding="utf-8").strip()
_FENCE = "```"
_OPENED = re.compile(rf"{_FENCE}[a-zA-Z]*+[^\S\n]*+\n")
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    value: T
    reply: ModelReply
    repairs: int
    """How often the model had to be told what was wrong."""
    replies: tuple[ModelReply, ...] = ()
    """All of its answers, the last included, and those that could not even be read: each was paid for."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """The answer does not satisfy the schema; `faults` is written for the model."""

    faults: str


def ask_natively(request: ModelRequest, schema: type[BaseModel]) -> ModelRequest:
    """For providers that hold the model to a schema."""
    return request.model_copy(update={"response_schema": schema.model_json_schema()})


def ask_in_words(request: ModelRequest, schema: type[BaseModel]) -> ModelRequest:
    """For all others: the schema follows the system messages that open the conversation."""
    words = Message(role=Role.SYSTEM, content=_ASK.replace("{{schema}}", _schema_text(schema)))
    systems = tuple(takewhile(lambda message: message.role is Role.SYSTEM, request.messages))
    messages = (*systems, words, *request.messages[len(systems) :])
    return request.model_copy(update={"messages": messages, "response_schema": None})


def ask_again(request: ModelRequest, schema: type[BaseModel], reply: ModelReply, unfit: Unfit) -> ModelRequest:
    """The request with the answer that did not fit, and what was wrong with it."""
    words = _REPAIR.replace("{{schema}}", _schema_text(schema)).replace("{{faults}}", unfit.faults)
    said = Message(role=Role.ASSISTANT, content=reply.text or "(nothing)")
    return request.model_copy(update={"messages": (*request.messages, said, Message(role=Role.USER, content=words))})


def read(text: str, schema: type[T]) -> T | Unfit:
    """The value in a model's answer; a code fence and words around the object are forgiven."""
    try:
        return schema.model_validate_json(_object_in(text))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        lines = [f"- {'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}" for problem in problems]
        return Unfit("\n".join(lines[:_FAULTS_SHOWN]))


def _object_in(text: str) -> str:
    text = text.strip()
    opened = _OPENED.match(text)
    text = text[opened.end() : -len(_FENCE)].strip() if opened and text.endswith(_FENCE) else text
    start = text.find("{")
    if start <= 0:
        return text
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return text
    return text[start:end]


def _schema_text(schema: type[BaseModel]) -> str:
    return json.dumps(schema.model_json_schema(), ensure_ascii=False)
