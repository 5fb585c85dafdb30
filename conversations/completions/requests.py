"""What a program asks in the words of OpenAI's chat completions, as a question and what was said before it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from conversations.history import Said, quotation
from conversations.models import Role
from hyperagent.lib.width import holds_more

OWNER: Final = "hyperagent"
MOST_MESSAGES: Final = 1_000
# To tell what is wrong with each of more would take seconds. What is not heeded is not looked at.
MOST_VALUES: Final = 20_000
_NOT_LOOKED_AT: Final = ("tools", "functions", "tool_calls", "response_format")
# What a system message says is the wish of whoever asks, so it stands among their words.
_INSTRUCTIONS: Final = "Instructions for the whole conversation, from the program that asks:\n{text}"
# Given by many clients as a matter of course; the agents choose tools and models by themselves.
_IGNORED: Final = {
    "tools": "the agents have tools of their own",
    "tool_choice": "the agents choose their tools",
    "functions": "the agents have tools of their own",
    "function_call": "the agents choose their tools",
    "parallel_tool_calls": "the agents choose their tools",
    "temperature": "each agent has a temperature of its own",
    "top_p": "each agent has settings of its own",
    "max_tokens": "an answer is as long as it has to be; limit a run by a budget",
    "max_completion_tokens": "an answer is as long as it has to be; limit a run by a budget",
    "stop": "an answer ends where it ends",
    "seed": "several models take part in an answer",
    "logprobs": "several models take part in an answer",
    "top_logprobs": "several models take part in an answer",
    "reasoning_effort": "each agent has settings of its own",
    "verbosity": "each agent has settings of its own; ask for it in words",
    "web_search_options": "the agents choose their tools; hyperagent/web searches the web",
    "prediction": "an answer is written from its beginning",
    "presence_penalty": "each agent has settings of its own",
    "frequency_penalty": "each agent has settings of its own",
    "logit_bias": "each agent has settings of its own",
}


class NotAsked(Exception):
    """The request cannot be used. `param`: where the fault is, such as `messages.2.content`."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """`mode`: of the model that was named; None lets the router choose. `told`: what was said before the question; None
    where the conversation itself knows. `thread`: the program's own name of the conversation. `warnings`: what of the
    request is not heeded, in words."""

    model: str
    question: str
    mode: str | None
    told: Sequence[Said] | None
    conversation_id: UUID | None
    thread: str
    document_ids: tuple[str, ...]
    stream: bool
    tells_usage: bool
    warnings: tuple[str, ...]


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")


class _Part(_Given):
    type: str
    text: str = ""


def _none_is_empty(value: object) -> object:
    return "" if value is None else value


class _Message(_Given):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str | list[_Part], BeforeValidator(_none_is_empty)] = ""


class _StreamOptions(_Given):
    include_usage: bool = False


class _Request(_Given):
    model: str
    messages: Annotated[list[_Message], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    n: int | None = 1
    user: str | None = None
    metadata: dict[str, str] | None = None
    response_format: dict[str, Any] | None = None


def read(body: Any) -> Asked:
    """Raises NotAsked with the first fault."""
    given = _checked(body)
    if given.n not in (None, 1):
        raise NotAsked("n: one answer at a time is all that there is here. Send n = 1, or leave it out.", param="n")
    kind = (given.response_format or {}).get("type", "text")
    if kind != "text":
        raise NotAsked(
            f"response_format: '{kind}' cannot be promised here. Ask for it in words, and leave this out.",
            param="response_format",
        )
    metadata = given.metadata or {}
    *before, last = given.messages
    if last.role != "user":
        at = f"messages.{len(before)}"
        raise NotAsked(f"{at}: the last message has to be the user's, for that is what is answered.", param=at)
    conversation_id = _conversation_of(metadata)
    return Asked(
        model=given.model,
        question=_text_of(last, len(before)),
        mode=mode_of(given.model),
        told=_told(before) if before or conversation_id is None else None,
        conversation_id=conversation_id,
        thread=(given.user or "").strip(),
        document_ids=tuple(one.strip() for one in metadata.get("document_ids", "").split(",") if one.strip()),
        stream=bool(given.stream),
        tells_usage=given.stream_options is not None and given.stream_options.include_usage,
        warnings=tuple(f"{name} is not heeded: {why}." for name, why in _IGNORED.items() if _says(given, name)),
    )


def mode_of(model: str) -> str | None:
    """`hyperagent` lets the router choose; `hyperagent/research` is the mode of that name. Raises NotAsked."""
    owner, _slash, mode = model.partition("/")
    if owner != OWNER or (_slash and not mode):
        raise no_such_model(model)
    return mode or None


def no_such_model(model: str) -> NotAsked:
    words = f"The model '{model[:80]}' does not exist here. GET /v1/models lists those that do."
    return NotAsked(words, param="model", code="model_not_found")


def _checked(body: Any) -> _Request:
    if holds_more(body, MOST_VALUES, but=_NOT_LOOKED_AT):
        raise NotAsked(f"There are more than {MOST_VALUES:,} values in the body. Send less at once.")
    try:
        return _Request.model_validate(body)
    except ValidationError as error:
        fault = error.errors()[0]
        # Of a union each member complains; the place that people wrote ends before its name.
        place = ".".join(str(part) for part in fault["loc"] if part != "str" and not str(part).startswith("list["))
        message = f"{place}: {fault['msg']}" if place else "The body has to be a JSON object."
        raise NotAsked(message, param=place or None) from None


def _conversation_of(metadata: Mapping[str, str]) -> UUID | None:
    named = metadata.get("conversation_id")
    try:
        return UUID(named) if named else None
    except ValueError:
        param = "metadata.conversation_id"
        raise NotAsked(f"{param}: '{named}' is not the id of a conversation.", param=param) from None


def _told(messages: Sequence[_Message]) -> list[Said]:
    """What tools of the program gave is told as a quotation: nobody here has called them. Instructions come last: of a
    long history agents hear the newest messages only."""
    said, instructions = [], []
    for place, message in enumerate(messages):
        text = _text_of(message, place)
        match message.role:
            case "system" | "developer":
                if text.strip():
                    instructions.append(Said(role=Role.USER, content=_INSTRUCTIONS.format(text=text)))
            case "user":
                said.append(Said(role=Role.USER, content=text))
            case "assistant":
                said.append(Said(role=Role.ASSISTANT, content=text))
            case "tool" | "function" if text.strip():
                said.append(quotation("a tool of the program", text))
    return [*(one for one in said if one["content"].strip()), *instructions]


def _text_of(message: _Message, place: int) -> str:
    if isinstance(message.content, str):
        return message.content
    for number, part in enumerate(message.content):
        if part.type not in ("text", "input_text", "output_text", "refusal"):
            param = f"messages.{place}.content.{number}"
            raise NotAsked(
                f"{param}: parts of the type '{part.type[:40]}' are not read here. Upload a file with POST "
                "/api/v1/documents and name its id in metadata.document_ids.",
                param=param,
            )
    return "\n".join(part.text for part in message.content if part.text)


def _says(given: _Request, name: str) -> bool:
    """0 says something: it is a temperature that many a client sends."""
    value = (given.model_extra or {}).get(name)
    return value is not None and value is not False and value not in ([], {}, "")
