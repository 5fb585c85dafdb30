"""What counts as an answer to a question of each kind. Pure: a question and what somebody said in, what the run gets
out; nothing is read or stored here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hitl.models import RequestKind, RequestStatus
from hyperagent.lib.refusals import Refused

MAX_TEXT_CHARS: Final = 20_000
MAX_INSTRUCTIONS_CHARS: Final = 4_000
MAX_PLAN_CHARS: Final = 200_000
MAX_PLAN_TASKS: Final = 50

_APPROVED, _DENIED, _ANSWERED = RequestStatus.APPROVED, RequestStatus.DENIED, RequestStatus.ANSWERED
# What a person may make of a request of each kind. To deny a question is to decline to answer it.
DECISIONS: Final[Mapping[str, frozenset[RequestStatus]]] = {
    RequestKind.APPROVAL: frozenset({_APPROVED, _DENIED}),
    RequestKind.DECISION: frozenset({_ANSWERED, _DENIED}),
    RequestKind.INPUT: frozenset({_ANSWERED, _DENIED}),
    RequestKind.PLAN: frozenset({_APPROVED, _DENIED, _ANSWERED}),
    RequestKind.BUDGET: frozenset({_APPROVED, _DENIED, _ANSWERED}),
}


@dataclass(frozen=True, slots=True)
class Response:
    """What a person says to a request. `plan`: the tasks as they want them, `{"tasks": […]}`."""

    decision: RequestStatus
    instructions: str = ""
    choice: str | None = None
    text: str | None = None
    plan: dict[str, Any] | None = None


def answer_to(kind: str, question: Any, response: Response) -> dict[str, Any] | None:
    """What the run is given besides the decision; None if there is nothing. Raises Refused, naming every fault."""
    faults = _faults(kind, options_of(question), response)
    if faults:
        name, messages = next(iter(faults.items()))
        raise Refused("invalid", f"{name}: {messages[0]}", fields=faults)
    answer: dict[str, Any] = {}
    if response.choice is not None:
        answer["choice"] = response.choice
    if response.text is not None:
        answer["text"] = response.text
    if response.plan is not None:
        answer["plan"] = {"tasks": _tasks(response.plan)}
    if response.instructions:
        answer["instructions"] = response.instructions
    return answer or None


def options_of(question: Any) -> list[str]:
    """The choices that a question offers, as they are to be named; an option may be a text or an object with an id."""
    offered = question.get("options") if isinstance(question, Mapping) else None
    if not isinstance(offered, list):
        return []
    return [str(one.get("id", "")) if isinstance(one, Mapping) else str(one) for one in offered]


def _faults(kind: str, options: list[str], response: Response) -> dict[str, list[str]]:
    found = {
        "decision": _decision_fault(kind, response),
        "choice": _choice_fault(kind, options, response),
        "text": _text_fault(kind, options, response),
        "plan": _plan_fault(kind, response),
        "instructions": _length_fault(response.instructions, MAX_INSTRUCTIONS_CHARS),
    }
    return {name: [fault] for name, fault in found.items() if fault}


def _decision_fault(kind: str, response: Response) -> str:
    allowed = DECISIONS[kind]
    if response.decision in allowed:
        return ""
    return f"A request of kind {kind} takes {', '.join(sorted(allowed))}, not {response.decision}."


def _choice_fault(kind: str, options: list[str], response: Response) -> str:
    named = ", ".join(options)
    if response.choice is None:
        must_choose = kind == RequestKind.DECISION and response.decision == _ANSWERED and options
        return f"Choose one of: {named}." if must_choose else ""
    if not options:
        return "This request offers no choices. Leave this out."
    if response.choice not in options:
        return f"'{response.choice[:80]}' is not offered. Choose one of: {named}."
    return ""


def _text_fault(kind: str, options: list[str], response: Response) -> str:
    asks_for_words = kind in (RequestKind.INPUT, RequestKind.DECISION) and response.decision == _ANSWERED
    says_nothing = not (response.text or "").strip() and response.choice is None
    if asks_for_words and says_nothing and not (options and kind == RequestKind.DECISION):
        return "The answer is empty. Write something, or decline with the decision 'denied'."
    return _length_fault(response.text or "", MAX_TEXT_CHARS)


def _plan_fault(kind: str, response: Response) -> str:
    if response.plan is None:
        must_plan = kind == RequestKind.PLAN and response.decision == _ANSWERED
        return "Send the plan as you want it, or approve it as it is." if must_plan else ""
    if kind != RequestKind.PLAN:
        return "Only a request of kind plan takes a plan. Leave this out."
    tasks = _tasks(response.plan)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return 'A plan is {"tasks": [{"id", "agent", "task", "depends_on", …}, …]}.'
    if not 1 <= len(tasks) <= MAX_PLAN_TASKS:
        return f"A plan has 1 to {MAX_PLAN_TASKS} tasks; this one has {len(tasks)}. To do nothing, deny it."
    return _length_fault(json.dumps(tasks), MAX_PLAN_CHARS)


def _tasks(plan: Mapping[str, Any]) -> Any:
    """`steps` is what the events of a plan call them."""
    return plan.get("tasks", plan.get("steps"))


def _length_fault(text: str, limit: int) -> str:
    return f"This has {len(text):,} characters; at most {limit:,} are allowed." if len(text) > limit else ""
