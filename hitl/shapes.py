"""How a request looks to browsers and programs. Pure: a row in, a JSON value out; no query of its own."""

from typing import Any

from hitl.answers import options_of
from hitl.models import Request
from hyperagent.lib.times import iso

# What of a question has a field of its own; the rest are its details.
_OWN = ("question", "options", "tool_names", "tool_calls", "task_description", "timeout_seconds")


def request_shape(request: Request) -> dict[str, Any]:
    asked = request.question if isinstance(request.question, dict) else {"question": request.question}
    return {
        "request_id": str(request.request_id),
        "kind": request.kind,
        "execution_id": str(request.execution_id),
        "conversation_id": str(request.conversation_id) if request.conversation_id else None,
        "agent_id": str(request.agent_id),
        "agent_name": request.agent_name,
        "tool_names": request.tool_names or _list(asked.get("tool_names")),
        "tool_calls": _list(asked.get("tool_calls")),
        "task_description": request.task_description or str(asked.get("task_description") or ""),
        "question": str(asked.get("question") or asked.get("text") or ""),
        "options": options_of(asked),
        "details": {name: value for name, value in asked.items() if name not in _OWN},
        "status": request.status,
        "answer": request.answer,
        "user_instructions": request.user_instructions,
        "created_at": iso(request.created_at),
        "expires_at": iso(request.expires_at),
        "responded_at": iso(request.responded_at),
        "decided_by": str(request.decided_by_id) if request.decided_by_id else None,
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
