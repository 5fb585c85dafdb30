"""What people see of a question: that it is open, and how it ended. Pure."""

from typing import Any
from uuid import UUID

from agents.engine.events import Body, HitlApproved, HitlDenied, HitlRequired, HitlTimeout, Interrupt, InterruptResponse

APPROVAL = "approval"
# How a question ends without a word of anybody.
UNANSWERED = frozenset({"timed_out", "expired", "cancelled"})
# What of a question, and of each call in it, may differ from one time to the next without its being another question.
_PASSING = frozenset({"timeout_seconds"})
_PASSING_OF_CALL = frozenset({"id"})


def essence(kind: str, question: Any) -> Any:
    """What makes a question the same as an earlier one. Of an approval that is, above all, its arguments' hash."""
    if not isinstance(question, dict):
        return question
    kept = {name: value for name, value in question.items() if name not in _PASSING}
    calls = kept.get("tool_calls")
    if kind == APPROVAL and isinstance(calls, list):
        kept["tool_calls"] = [_without(call, _PASSING_OF_CALL) for call in calls]
    return kept


def is_said(answer: Any) -> bool:
    """Whether somebody answered, and the question did not just come to its end."""
    return not (isinstance(answer, dict) and answer.get("status") in UNANSWERED)


def is_yes(kind: str, answer: Any) -> bool:
    """Whether somebody approved what the question asks for."""
    return kind == APPROVAL and isinstance(answer, dict) and answer.get("status") == "approved"


def opened(
    request_id: UUID,
    agent_name: str,
    kind: str,
    question: Any,
    *,
    root_agent_id: UUID | None = None,
    agent_path: tuple[str, ...] = (),
    timeout_s: int | None = None,
) -> Body:
    """The event of a question that opens. What has no field of its own in it stands in its details. `timeout_s`: after
    which it ends by itself, where it does not say so."""
    asked = question if isinstance(question, dict) else {"question": question}
    said_s = asked.get("timeout_seconds")
    timeout_s = said_s if isinstance(said_s, int) else timeout_s
    if kind == APPROVAL:
        return HitlRequired(
            request_id=str(request_id),
            agent_name=agent_name,
            tool_names=_texts(asked.get("tool_names")),
            task_description=str(asked.get("task_description") or ""),
            timeout_seconds=timeout_s,
            root_agent_id=str(root_agent_id) if root_agent_id else None,
            agent_path=agent_path,
        )
    own = {"question", "timeout_seconds"}
    options = _texts(asked.get("options"))
    if options:
        own.add("options")
    return Interrupt(
        request_id=str(request_id),
        kind=kind,
        question=str(asked.get("question") or ""),
        options=options,
        details={name: value for name, value in asked.items() if name not in own},
        timeout_seconds=timeout_s,
        root_agent_id=str(root_agent_id) if root_agent_id else None,
        agent_path=agent_path,
    )


def closed(request_id: UUID, kind: str, answer: Any) -> Body:
    """The event of an answer. A request that ended without one is never shown as somebody's no."""
    told = answer if isinstance(answer, dict) else {}
    status = str(told.get("status") or told.get("decision") or "answered")
    if kind != APPROVAL:
        choice, text = told.get("choice"), told.get("text")
        return InterruptResponse(
            request_id=str(request_id),
            kind=kind,
            status=status,
            choice=None if choice is None else str(choice),
            text=None if text is None else str(text),
        )
    if status == "approved":
        return HitlApproved(request_id=str(request_id))
    if status == "denied":
        return HitlDenied(request_id=str(request_id), reason=str(told.get("reason") or told.get("instructions") or ""))
    return HitlTimeout(request_id=str(request_id))


def _without(value: Any, names: frozenset[str]) -> Any:
    return {name: part for name, part in value.items() if name not in names} if isinstance(value, dict) else value


def _texts(value: Any) -> tuple[str, ...]:
    """The value if it is a list of texts; else nothing: what is richer belongs to the details."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return ()
