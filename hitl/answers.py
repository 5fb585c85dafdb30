"""What counts as an answer to a question of each kind. Pure: a question and what somebody said in, what the run gets
out; nothing is read or stored here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from django.utils.translation import gettext as _

from hitl import budgets, calls
from hitl.conditions import Remember
from hitl.kinds import SNOOZED, Happening, RequestKind, RequestStatus
from hitl.remembering import rule_from
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Refused
from hyperagent.lib.text import clean_text, clean_value

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
# What is said to these is said as instructions.
_WITHOUT_TEXT: Final = frozenset({RequestKind.APPROVAL, RequestKind.PLAN})


@dataclass(frozen=True, slots=True)
class Response:
    """What a person says to a request. `plan`: the tasks as they want them, `{"tasks": […]}`. `arguments_hash`: of what
    they were shown. `remember`: make a rule of it. `snooze_until`: for a decision of `snoozed` only.
    `key`: what a program knows its message by; the history has it.
    """

    decision: RequestStatus | Literal[Happening.SNOOZED]
    instructions: str = ""
    choice: str | None = None
    text: str | None = None
    plan: dict[str, Any] | None = None
    edited_arguments: dict[str, Any] | None = None
    arguments_hash: str = ""
    remember: Remember | None = None
    snooze_until: datetime | None = None
    key: str = ""


def response_from(given: Mapping[str, Any], *, now: datetime) -> Response:
    """The response that a form, a frame or a body of the API describes; its types are checked already.

    Raises Refused for a `remember` that describes no rule.
    """
    remember = given.get("remember")
    said = given["decision"]
    return Response(
        decision=SNOOZED if said == SNOOZED else RequestStatus(said),
        instructions=clean_text(given.get("instructions") or ""),
        choice=clean_value(given.get("choice")),
        text=clean_value(given.get("text")),
        plan=clean_value(given.get("plan")),
        edited_arguments=clean_value(given.get("edited_arguments")),
        arguments_hash=given.get("arguments_hash") or "",
        remember=None if remember is None else rule_from(remember, now=now),
        snooze_until=given.get("snooze_until"),
    )


def answer_to(kind: str, question: Any, response: Response) -> dict[str, Any] | None:
    """What the run is given besides the decision; None if there is nothing. Raises Refused, naming every fault."""
    faults = _faults(kind, options_of(question), response) | _call_faults(kind, question, response)
    if kind == RequestKind.BUDGET and not faults:
        faults = budgets.faults_of(question, decision=response.decision, choice=response.choice, text=response.text)
    if faults:
        raise Refused.of(faults)
    answer: dict[str, Any] = {}
    if response.choice is not None:
        answer["choice"] = response.choice
    if response.text is not None and kind not in _WITHOUT_TEXT:
        answer["text"] = response.text
    if response.plan is not None:
        answer["plan"] = {"tasks": _tasks(response.plan)}
    if response.instructions:
        answer["instructions"] = response.instructions
    if kind == RequestKind.APPROVAL and response.decision == _APPROVED:
        answer |= calls.approved(question, response.edited_arguments)
    if kind == RequestKind.BUDGET:
        answer |= budgets.said(question, decision=response.decision, choice=response.choice, text=response.text)
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
        "instructions": _instructions_fault(kind, response),
    }
    return {name: [fault] for name, fault in found.items() if fault}


def _instructions_fault(kind: str, response: Response) -> str:
    """Those of a no stand in the history as its reason."""
    if response.instructions and kind == RequestKind.BUDGET and response.decision != _DENIED:
        return _("No agent reads instructions with a budget's answer. Say it to the run itself, and leave this out.")
    return _length_fault(response.instructions, MAX_INSTRUCTIONS_CHARS)


def _call_faults(kind: str, question: Any, response: Response) -> dict[str, list[str]]:
    """What is wrong with that which only an approval takes."""
    found: dict[str, list[str]] = {}
    if response.remember is not None and kind != RequestKind.APPROVAL:
        found["remember"] = [_("Only an approval makes a rule. Leave this out.")]
    if response.snooze_until is not None:
        found["snooze_until"] = [_("Only the decision 'snoozed' takes a time. Leave this out.")]
    if response.edited_arguments is None:
        return found
    if kind != RequestKind.APPROVAL or response.decision != _APPROVED:
        return found | {calls.FIELD: [_("Only an approval that is given takes other arguments. Leave this out.")]}
    return found | calls.faults_of(question, response.edited_arguments)


def _decision_fault(kind: str, response: Response) -> str:
    allowed = DECISIONS[kind]
    if response.decision in allowed:
        return ""
    return _("A request of kind {kind} takes {names}, not {decision}.").format(
        kind=kind, names=", ".join(sorted(allowed)), decision=response.decision
    )


def _choice_fault(kind: str, options: list[str], response: Response) -> str:
    named = ", ".join(options)
    if response.choice is None:
        must_choose = kind == RequestKind.DECISION and response.decision == _ANSWERED and options
        return _("Choose one of: {named}.").format(named=named) if must_choose else ""
    if not options:
        return _("This request offers no choices. Leave this out.")
    if response.choice not in options:
        return _("'{choice}' is not offered. Choose one of: {named}.").format(choice=response.choice[:80], named=named)
    return ""


def _text_fault(kind: str, options: list[str], response: Response) -> str:
    if kind in _WITHOUT_TEXT and (response.text or "").strip():
        # Nobody would read it: a yes on a condition would become a yes.
        words = _("A request of kind {kind} takes no text. Send what you want to say as 'instructions'.")
        return words.format(kind=kind)
    asks_for_words = kind in (RequestKind.INPUT, RequestKind.DECISION) and response.decision == _ANSWERED
    says_nothing = not (response.text or "").strip() and response.choice is None
    if asks_for_words and says_nothing and not (options and kind == RequestKind.DECISION):
        return _("The answer is empty. Write something, or decline with the decision 'denied'.")
    return _length_fault(response.text or "", MAX_TEXT_CHARS)


def _plan_fault(kind: str, response: Response) -> str:
    if response.plan is None:
        must_plan = kind == RequestKind.PLAN and response.decision == _ANSWERED
        return _("Send the plan as you want it, or approve it as it is.") if must_plan else ""
    if kind != RequestKind.PLAN:
        return _("Only a request of kind plan takes a plan. Leave this out.")
    tasks = _tasks(response.plan)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return _('A plan is {"tasks": [{"id", "agent", "task", "depends_on", …}, …]}.')
    if not 1 <= len(tasks) <= MAX_PLAN_TASKS:
        return _("A plan has 1 to {limit} tasks; this one has {count}. To do nothing, deny it.").format(
            limit=MAX_PLAN_TASKS, count=len(tasks)
        )
    return calls.unfit(response.plan) or _length_fault(json.dumps(tasks), MAX_PLAN_CHARS)


def _tasks(plan: Mapping[str, Any]) -> Any:
    """`steps` is what the events of a plan call them."""
    return plan.get("tasks", plan.get("steps"))


def _length_fault(text: str, limit: int) -> str:
    return (
        _("This has {count} characters; at most {limit} are allowed.").format(
            count=grouped(len(text)), limit=grouped(limit)
        )
        if len(text) > limit
        else ""
    )
