"""From the events of a run to those of AG-UI. Pure. Imports ag_ui, which takes a third of a second: open it late."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core.events import (
    Interrupt,
    RunFinishedCancelledOutcome,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
)

Event = Mapping[str, Any]
# What AG-UI has words for, each with a method of its name; all else is a custom event under our own name.
_TOLD: Final = frozenset(
    {"token", "token_reset", "stage", "agent_state", "tool_call", "tool_result", "complete", "error", "resync"}
)
_SILENT: Final = frozenset({"usage", "status_changed", "interrupt", "hitl_required"})
_FAILED: Final = frozenset({"failed", "skipped"})
_OVER: Final = frozenset({"completed", "cancelled", "deleted"}) | _FAILED
# How a person's answer to each kind has to look, as the payload of a resumed interrupt.
_DECISION: Final = {"type": "string", "enum": ["approved", "denied", "answered"]}
_ANSWER: Final = {
    "type": "object",
    "properties": {
        "decision": _DECISION,
        "arguments_hash": {"type": "string", "description": "As the interrupt has it: the yes is to what was shown."},
        "instructions": {"type": "string"},
        "choice": {"type": "string"},
        "text": {"type": "string"},
        "edited_arguments": {"type": "object"},
    },
    "required": ["decision"],
}


class Telling:
    """One AG-UI run of a thread. Its text may begin again, which AG-UI cannot say: the message is ended then, and a new
    one begins with the text as it is now."""

    def __init__(self, *, thread_id: str, run_id: str) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._texts: dict[str | None, str] = {}
        self._open: str | None = None
        self._thinking: str | None = None
        self._said = ""
        self._messages = 0
        self._subagents: set[str] = set()

    def begins(self) -> BaseEvent:
        return RunStartedEvent(thread_id=self._thread_id, run_id=self._run_id)

    def of(self, event: Event) -> list[BaseEvent]:
        """What this event is worth in AG-UI; of the last one, the end of the run."""
        kind = event["type"]
        if kind in _SILENT:
            return []
        tell = getattr(self, f"_{kind}", None) if kind in _TOLD else None
        if tell is not None:
            told: list[BaseEvent] = tell(event)
            return told
        return [CustomEvent(name=kind, value=dict(event), timestamp=event.get("timestamp"))]

    def waits(self, requests: Sequence[Mapping[str, Any]]) -> list[BaseEvent]:
        """The run waits for people: an AG-UI run ends there, and another one resumes it with their answers."""
        outcome = RunFinishedInterruptOutcome(interrupts=[_interrupt(request) for request in requests])
        return [*self._ended_texts(), self._finished(outcome=outcome)]

    def _resync(self, event: Event) -> list[BaseEvent]:
        self._texts.clear()
        return []

    def _token_reset(self, event: Event) -> list[BaseEvent]:
        if event.get("channel", "answer") != "answer":
            return []
        agent = event.get("agent_id")
        self._texts[agent] = self._texts.get(agent, "")[: event["keep"]]
        return self._ended_texts()

    def _stage(self, event: Event) -> list[BaseEvent]:
        kind = StepStartedEvent if event["status"] == "running" else StepFinishedEvent
        return [kind(step_name=event["name"], timestamp=event.get("timestamp"))]

    def _error(self, event: Event) -> list[BaseEvent]:
        return [*self._ended_texts(), RunErrorEvent(message=event["message"], code=event["code"])]

    def _token(self, event: Event) -> list[BaseEvent]:
        agent, text = event.get("agent_id"), event["content"]
        if event.get("channel", "answer") == "thinking":
            return self._thought(text)
        self._texts[agent] = self._texts.get(agent, "") + text
        whole = self._texts[agent]
        told: list[BaseEvent] = []
        if self._open is not None and not whole.startswith(self._said):
            told += self._ended_texts()
        told += self._ended_thoughts()
        if self._open is None:
            self._open, self._said = self._next_message(), ""
            told.append(TextMessageStartEvent(message_id=self._open, role="assistant"))
        told.append(TextMessageContentEvent(message_id=self._open, delta=whole[len(self._said) :]))
        self._said = whole
        return told

    def _thought(self, text: str) -> list[BaseEvent]:
        told: list[BaseEvent] = []
        if self._thinking is None:
            self._thinking = self._next_message()
            told.append(ReasoningStartEvent(message_id=self._thinking))
            told.append(ReasoningMessageStartEvent(message_id=self._thinking))
        return [*told, ReasoningMessageContentEvent(message_id=self._thinking, delta=text)]

    def _ended_thoughts(self) -> list[BaseEvent]:
        if self._thinking is None:
            return []
        ended, self._thinking = self._thinking, None
        return [ReasoningMessageEndEvent(message_id=ended), ReasoningEndEvent(message_id=ended)]

    def _ended_texts(self) -> list[BaseEvent]:
        told = self._ended_thoughts()
        if self._open is not None:
            told.append(TextMessageEndEvent(message_id=self._open))
            self._open, self._said = None, ""
        return told

    def _agent_state(self, event: Event) -> list[BaseEvent]:
        """The root is the run itself."""
        agent, status = event.get("agent_id"), event["status"]
        if event.get("parent_id") is None or agent is None:
            return []
        if status in _OVER:
            if agent not in self._subagents:
                return []
            self._subagents.discard(agent)
            if status in _FAILED:
                words = event.get("error") or "It did not do its part."
                return [SubagentErrorEvent(subagent_run_id=agent, message=words, code=status)]
            return [SubagentFinishedEvent(subagent_run_id=agent)]
        if agent in self._subagents or status == "pending":
            return []
        self._subagents.add(agent)
        parent = event["parent_id"] if event["parent_id"] in self._subagents else None
        return [
            SubagentStartedEvent(
                subagent_run_id=agent,
                name=event["agent_name"],
                description=event.get("task"),
                parent_subagent_run_id=parent,
            )
        ]

    def _tool_call(self, event: Event) -> list[BaseEvent]:
        call_id, by = event.get("id") or self._next_message(), self._by(event)
        return [
            ToolCallStartEvent(tool_call_id=call_id, tool_call_name=event["tool"], subagent_run_id=by),
            ToolCallArgsEvent(tool_call_id=call_id, delta=json.dumps(event["args"]), subagent_run_id=by),
            ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=by),
        ]

    def _tool_result(self, event: Event) -> list[BaseEvent]:
        return [
            ToolCallResultEvent(
                message_id=self._next_message(),
                tool_call_id=event.get("id") or "",
                content=event["content"],
                role="tool",
                subagent_run_id=self._by(event),
            )
        ]

    def _by(self, event: Event) -> str | None:
        agent = event.get("agent_id")
        return agent if agent in self._subagents else None

    def _complete(self, event: Event) -> list[BaseEvent]:
        """The answer as it is stored, if people have not been told exactly that."""
        told: list[BaseEvent] = []
        if event["answer"] != self._said:
            told += self._ended_texts()
            if event["answer"]:
                self._open = self._next_message()
                told.append(TextMessageStartEvent(message_id=self._open, role="assistant"))
                told.append(TextMessageContentEvent(message_id=self._open, delta=event["answer"]))
        is_cancelled = event.get("status") == "cancelled"
        outcome = RunFinishedCancelledOutcome() if is_cancelled else RunFinishedSuccessOutcome()
        result = {name: event.get(name) for name in ("answer", "sources", "usage")}
        return [*told, *self._ended_texts(), self._finished(outcome=outcome, result=result)]

    def _finished(self, *, outcome: Any, result: Any = None) -> BaseEvent:
        return RunFinishedEvent(thread_id=self._thread_id, run_id=self._run_id, outcome=outcome, result=result)

    def _next_message(self) -> str:
        self._messages += 1
        return f"{self._run_id}-{self._messages}"


def _interrupt(request: Mapping[str, Any]) -> Interrupt:
    """`metadata` has the whole request: what is shown to a person is what they decide about."""
    calls = request["tool_calls"]
    return Interrupt(
        id=request["request_id"],
        reason=request["kind"],
        message=request["question"] or request["task_description"],
        tool_call_id=calls[0]["id"] if calls else None,
        response_schema=_ANSWER,
        expires_at=request["expires_at"],
        metadata={"request": dict(request)},
    )
