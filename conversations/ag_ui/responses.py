"""From the events of a run to those of AG-UI. Pure. Imports ag_ui, which takes a third of a second: open it late."""

import json
from collections import Counter
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
    SubagentFinishedSuspendedOutcome,
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
    one begins with the text as it is now. Whatever begins in it ends in it, and once: front ends refuse a run of which
    that is not so.
    """

    def __init__(self, *, thread_id: str, run_id: str) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._texts: dict[str | None, str] = {}
        self._open: str | None = None
        self._thinking: str | None = None
        self._said = ""
        self._messages = 0
        self._subagents: dict[str, str] = {}
        """The agents that work, and what each is called here: one that works again is another subagent."""
        self._began: Counter[str] = Counter()
        self._steps: list[tuple[str | None, str]] = []
        """Those that are open: whose, and their names."""

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
        interrupts = [_interrupt(request, self._subagents.get(request["agent_id"])) for request in requests]
        told = [*self._ended_texts(), *self._ended_steps()]
        for subagent in self._subagents.values():
            asked = [interrupt.id for interrupt in interrupts if interrupt.subagent_run_id == subagent]
            suspended = SubagentFinishedSuspendedOutcome(interrupt_ids=asked)
            told.append(SubagentFinishedEvent(subagent_run_id=subagent, outcome=suspended))
        return [*told, self._finished(outcome=RunFinishedInterruptOutcome(interrupts=interrupts))]

    def _resync(self, event: Event) -> list[BaseEvent]:
        """All of it comes again."""
        self._texts.clear()
        return [*self._ended_texts(), *self._ended_agents()]

    def _token_reset(self, event: Event) -> list[BaseEvent]:
        if event.get("channel", "answer") != "answer":
            return []
        agent = event.get("agent_id")
        self._texts[agent] = self._texts.get(agent, "")[: event["keep"]]
        return self._ended_texts()

    def _stage(self, event: Event) -> list[BaseEvent]:
        """Some stages only say how they ended. One that begins while it is open was left without a word."""
        step = (self._by(event), event["name"])
        when = {"step_name": event["name"], "timestamp": event.get("timestamp"), "subagent_run_id": self._by(event)}
        started, finished = StepStartedEvent(**when), StepFinishedEvent(**when)
        is_open = step in self._steps
        if event["status"] == "running":
            self._steps += [] if is_open else [step]
            return [finished, started] if is_open else [started]
        if is_open:
            self._steps.remove(step)
        return [finished] if is_open else [started, finished]

    def _ended_steps(self, *subagents: str) -> list[BaseEvent]:
        """Those of these subagents; all, where none is named."""
        ended = [step for step in self._steps if not subagents or step[0] in subagents]
        self._steps = [step for step in self._steps if step not in ended]
        return [StepFinishedEvent(step_name=name, subagent_run_id=by) for by, name in ended]

    def _ended_agents(self) -> list[BaseEvent]:
        """With the steps: what the run leaves as it is."""
        ended = [SubagentFinishedEvent(subagent_run_id=subagent) for subagent in self._subagents.values()]
        self._subagents.clear()
        return [*self._ended_steps(), *ended]

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
            subagent = self._subagents.pop(agent, None)
            if subagent is None:
                return []
            steps = self._ended_steps(subagent)
            if status in _FAILED:
                words = event.get("error") or "It did not do its part."
                return [*steps, SubagentErrorEvent(subagent_run_id=subagent, message=words, code=status)]
            return [*steps, SubagentFinishedEvent(subagent_run_id=subagent)]
        if agent in self._subagents or status == "pending":
            return []
        parent = self._subagents.get(event["parent_id"])
        self._began[agent] += 1
        self._subagents[agent] = subagent = agent if self._began[agent] == 1 else f"{agent}-{self._began[agent]}"
        return [
            SubagentStartedEvent(
                subagent_run_id=subagent,
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
        return self._subagents.get(event.get("agent_id") or "")

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
        ended = [*self._ended_texts(), *self._ended_agents()]
        return [*told, *ended, self._finished(outcome=outcome, result=result)]

    def _finished(self, *, outcome: Any, result: Any = None) -> BaseEvent:
        return RunFinishedEvent(thread_id=self._thread_id, run_id=self._run_id, outcome=outcome, result=result)

    def _next_message(self) -> str:
        self._messages += 1
        return f"{self._run_id}-{self._messages}"


def _interrupt(request: Mapping[str, Any], subagent: str | None) -> Interrupt:
    """`metadata` has the whole request: what is shown to a person is what they decide about."""
    calls = request["tool_calls"]
    return Interrupt(
        id=request["request_id"],
        subagent_run_id=subagent,
        reason=request["kind"],
        message=request["question"] or request["task_description"],
        tool_call_id=calls[0]["id"] if calls else None,
        response_schema=_ANSWER,
        expires_at=request["expires_at"],
        metadata={"request": dict(request)},
    )
