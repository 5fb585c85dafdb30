"""What people see of a question: that it is open, and how it ended. Pure."""

from typing import Any
from uuid import UUID

from agents.engine.events import Body, HitlApproved, HitlDenied, HitlRequired, HitlTimeout, Interrupt, InterruptResponse

APPROVAL = "approval"


def opened(request_id: UUID, agent_name: str, kind: str, question: Any) -> Body:
    """The event of a question that opens. What has no field of its own in it stands in its details."""
    asked = question if isinstance(question, dict) else {"question": question}
    timeout_s = asked.get("timeout_seconds")
    timeout_s = timeout_s if isinstance(timeout_s, int) else None
    if kind == APPROVAL:
        return HitlRequired(
            request_id=str(request_id),
            agent_name=agent_name,
            tool_names=_texts(asked.get("tool_names")),
            task_description=str(asked.get("task_description") or ""),
            timeout_seconds=timeout_s,
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


def _texts(value: Any) -> tuple[str, ...]:
    """The value if it is a list of texts; else nothing: what is richer belongs to the details."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return ()
