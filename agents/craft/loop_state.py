"""What a loop of an agent knows, and how it changes: frozen values and pure functions. Asks nobody anything.

Nothing here is stored (S65-S67). The state is a function of the journal: whoever resumes a run calls the loop again,
the configuration (prompt, tools, middleware) comes fresh from the code, and each recorded step gives back what it gave
before, so that messages, todos and metadata are the same again after every record. That is finer than saving every
thirty seconds (S68), and neither prompts nor secrets need a place of their own.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError

from agents.craft.exchange import HandoffInfo
from agents.engine.events import Source
from agents.pipeline.blackboard import merge
from agents.runtime.tool_door import ToolReply
from agents.tools.untrusted import unmarked
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.types import Message, ModelReply, Role, ToolCall, ToolSpec

CHARS_PER_TOKEN: Final = 4
# A call costs a name, an id and punctuation beside what is counted.
MESSAGE_TOKENS: Final = 4
PINNED_CHARS: Final = 4_000
HANDOFF_TOOLS: Final = ("handoff_to_", "delegate_to_")
FOUND_SHOWN: Final = 5
MANY_ERRORS: Final = 5
"""From so many failed tool calls in a row on, another way has to be found (S84)."""
FOUND_CHARS: Final = 400
FRUITLESS: Final = ("errors", "repetition", "iterations")


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call of the model and what came of it."""

    call: ToolCall
    reply: ToolReply


@dataclass(frozen=True, slots=True)
class LoopState:
    """`messages` has no system messages. Those before number `summarised` are told by `summary`; the rest is sent.

    `metadata` belongs to the middleware, each under its own key, JSON only. `suffix` is system context for the next
    request alone. `stopped` and `notice` say why no more tools may be called.
    """

    messages: tuple[Message, ...] = ()
    task: Message | None = None
    """The message that says what is wanted: it stays in sight when it is summarised."""
    tools: tuple[str, ...] = ()
    """The names of the tools whose schemas the model gets."""
    summary: str = ""
    summarised: int = 0
    prefix_hash: str = ""
    """Of what the newest request began with: the same from round to round until more is summarised."""
    suffix: tuple[str, ...] = ()
    todos: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[Called, ...] = ()
    last_tool_calls_hash: str = ""
    repeats: int = 0
    errors_in_a_row: int = 0
    """Tool calls that failed since the last round in which one succeeded."""
    fixed_tokens: int = 0
    """What the system prompt and the tools' schemas take of every request, estimated."""
    model_used: str | None = None
    kept: str = ""
    """What was answered before a person added something, with what parts it from what comes below."""
    stopped: str = ""
    notice: str = ""

    # --- for middleware

    def told(self, text: str) -> "LoopState":
        """With a notice to the model at the end of the conversation. A user's message: providers keep its place."""
        return self.with_messages(Message(role=Role.USER, content=f"[System notice] {text}"))

    def with_messages(self, *messages: Message) -> "LoopState":
        return replace(self, messages=(*self.messages, *messages))

    def with_context(self, text: str) -> "LoopState":
        """With system context at the end of the next request; empty text adds nothing."""
        return replace(self, suffix=(*self.suffix, text)) if text else self

    def noting(self, key: str, value: Any) -> "LoopState":
        return replace(self, metadata={**self.metadata, key: value})

    def stop(self, reason: str, notice: str) -> "LoopState":
        """No more tools: the model must answer. The first reason holds."""
        return self if self.stopped else replace(self, stopped=reason, notice=notice)


@dataclass(frozen=True, slots=True)
class StablePrefix:
    """What a request begins with: the tools' schemas, which providers put first, then system prompt and summary."""

    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...] = ()

    @property
    def hashed(self) -> str:
        """SHA-256 in hex, of all of it in its order."""
        parts = [tool.canonical for tool in self.tools]
        parts += [message.content.encode("utf-8", "surrogatepass") for message in self.messages]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Looped:
    """`text` is never empty. `stopped` is None where the model came to its end by itself; else iterations,
    repetition, errors, budget or empty, and `notice` says it in words for people."""

    text: str
    messages: tuple[Message, ...] = ()
    calls: tuple[Called, ...] = ()
    sources: tuple[Source, ...] = ()
    stopped: str | None = None
    notice: str = ""
    handoff: HandoffInfo | None = None
    model_used: str | None = None
    shared: Mapping[str, Any] = field(default_factory=dict)
    errors_in_a_row: int = 0

    @property
    def came_to_nothing(self) -> bool:
        """Whether it was stopped at a point where its tools did nothing but fail: who planned it plans again (S84)."""
        return self.stopped in FRUITLESS and self.errors_in_a_row >= MANY_ERRORS


# --- what is sent


def get_stable_prefix(system: str, tools: tuple[ToolSpec, ...], state: LoopState) -> StablePrefix:
    """The same from request to request until more is summarised (S87, S89)."""
    messages = [Message(role=Role.SYSTEM, content=system)] if system else []
    if state.summary:
        messages.append(Message(role=Role.SYSTEM, content=f"[Summary of the conversation so far]\n{state.summary}"))
    return StablePrefix(tools, tuple(messages))


def get_dynamic_suffix(state: LoopState) -> tuple[Message, ...]:
    """What grows behind the prefix: the messages that are not summarised, and system context for this request."""
    visible = state.messages[state.summarised :]
    context = "\n\n".join(state.suffix)
    closing = (Message(role=Role.SYSTEM, content=context),) if context else ()
    return (*_pinned(state, visible), *visible, *closing)


def tokens_of(messages: Sequence[Message]) -> int:
    """An estimate by characters, calls included; no model's own count is as cheap as this."""
    return sum(MESSAGE_TOKENS + _chars_of(message) // CHARS_PER_TOKEN for message in messages)


def tokens_of_request(state: LoopState) -> int:
    return state.fixed_tokens + len(state.summary) // CHARS_PER_TOKEN + tokens_of(get_dynamic_suffix(state))


def tokens_of_fixed(system: str, tools: Sequence[ToolSpec]) -> int:
    return (len(system) + sum(tool.chars for tool in tools)) // CHARS_PER_TOKEN


# --- what happens


def answered(state: LoopState, reply: ModelReply) -> LoopState:
    return replace(state.with_messages(reply.as_message()), model_used=reply.model)


def performed(state: LoopState, round_: Sequence[Called]) -> LoopState:
    """The tools have answered. The failed calls of a round count one by one if none of it succeeded: those of one round
    happen at the same time, in no order."""
    failed = all(called.reply.is_error for called in round_)
    results = (tool_message(called.call, called.reply.content) for called in round_)
    return replace(
        state.with_messages(*results),
        calls=(*state.calls, *round_),
        errors_in_a_row=state.errors_in_a_row + len(round_) if failed else 0,
    )


def tool_message(call: ToolCall, content: str) -> Message:
    return Message(role=Role.TOOL, content=content, tool_call_id=call.id)


def handoff_of(round_: Sequence[Called]) -> HandoffInfo | None:
    """The first handoff that was accepted."""
    for called in round_:
        if called.call.name.startswith(HANDOFF_TOOLS) and not called.reply.is_error:
            try:
                return HandoffInfo.model_validate(called.reply.data)
            except ValidationError:
                continue
    return None


def looped(state: LoopState, text: str, *, handoff: HandoffInfo | None = None) -> Looped:
    return Looped(
        text=f"{state.kept}{text if text.strip() else _what_was_found(state)}",
        messages=state.messages,
        calls=state.calls,
        sources=_sources_of(state.calls),
        stopped=state.stopped or None,
        notice=state.notice,
        handoff=handoff,
        model_used=state.model_used,
        shared=_shared_of(state.calls),
        errors_in_a_row=state.errors_in_a_row,
    )


def _pinned(state: LoopState, visible: Sequence[Message]) -> tuple[Message, ...]:
    """The task, where it has been summarised: a model that has lost its task from sight drifts."""
    if state.task is None or state.task in visible:
        return ()
    content = state.task.content
    if len(content) > PINNED_CHARS:
        content = f"{content[:PINNED_CHARS]}\n[The rest of this message is told in the summary.]"
    return (state.task.model_copy(update={"content": content}),)


def _chars_of(message: Message) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return len(message.content) + len(message.thinking or "") + calls


def _what_was_found(state: LoopState) -> str:
    """For people, where the model itself says nothing: why, and what the tools brought until then; or, where they
    brought nothing, what the last of them that failed said."""
    lines = [f"I could not finish this. {state.notice}".strip()]
    found = [called for called in state.calls if not called.reply.is_error and called.reply.content.strip()]
    if found:
        lines.append("\nThis is what I found until then:")
        lines += [f"- {called.call.name}: {_excerpt(called.reply.content)}" for called in found[-FOUND_SHOWN:]]
    elif state.calls:
        last = state.calls[-1]
        lines.append(f"\nWhat was tried last: {last.call.name}: {_excerpt(last.reply.trouble)}")
    return "\n".join(lines)


def _excerpt(text: str) -> str:
    line = one_line(unmarked(text))
    return line if len(line) <= FOUND_CHARS else f"{line[:FOUND_CHARS]}…"


def _sources_of(calls: Sequence[Called]) -> tuple[Source, ...]:
    """Without doubles, the first of each kept. The score is left out of the comparison: it depends on the question."""
    found: dict[Source, Source] = {}
    for called in calls:
        for source in called.reply.sources:
            found.setdefault(source.model_copy(update={"relevance_score": None}), source)
    return tuple(found.values())


def _shared_of(calls: Sequence[Called]) -> dict[str, Any]:
    """What tools said for the blackboard: `shared` of their value."""
    shared: dict[str, Any] = {}
    for called in calls:
        said = called.reply.data.get("shared") if isinstance(called.reply.data, dict) else None
        if isinstance(said, dict) and not called.reply.is_error:
            shared = merge(shared, said)
    return shared
