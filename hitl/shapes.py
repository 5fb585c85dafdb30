"""How a request and its history look to browsers and programs. Pure: a row in, a JSON value out; no query of its
own.
"""

from typing import Any

from hitl.answers import options_of
from hitl.models import Decision, Request
from hyperagent.lib.times import iso

# What of a question has a field of its own; the rest are its details.
_OWN = (
    "question", "options", "tool_names", "tool_calls", "task_description", "timeout_seconds", "stage", "risk",
    "rules_allowed", "approvers", "tainted_by", "tainted_more", "address",
)  # fmt: skip


def request_shape(request: Request) -> dict[str, Any]:
    """`may_decide` is the reader's for whom `Request.objects.read_by` read the row; which also loads who decided."""
    asked = request.question if isinstance(request.question, dict) else {"question": request.question}
    return {
        "request_id": str(request.request_id),
        "kind": request.kind,
        "stage": request.stage,
        "execution_id": str(request.execution_id),
        "conversation_id": str(request.conversation_id) if request.conversation_id else None,
        "agent_id": str(request.agent_id),
        "agent_name": request.agent_name,
        "tool_names": request.tool_names or _list(asked.get("tool_names")),
        "tool_calls": _list(asked.get("tool_calls")),
        "arguments_hash": request.arguments_hash,
        "risk": request.risk,
        "why": str(asked.get("why") or ""),
        "task_description": request.task_description or str(asked.get("task_description") or ""),
        "question": str(asked.get("question") or asked.get("text") or ""),
        "options": options_of(asked),
        "details": {name: value for name, value in asked.items() if name not in _OWN},
        "approvers": {
            "kind": request.approver_kind,
            "name": request.approver_name,
            "different_person": request.different_person,
        },
        "may_decide": request.may_decide,
        "rules_allowed": bool(asked.get("rules_allowed")),
        "tainted_by": _list(asked.get("tainted_by")),
        "tainted_more": asked.get("tainted_more") or 0,
        "address": asked.get("address"),
        "status": request.status,
        "answer": request.answer,
        "edited_arguments": request.edited_arguments,
        "user_instructions": request.user_instructions,
        "created_at": iso(request.created_at),
        "remind_at": iso(request.remind_at),
        "was_reminded": request.was_reminded,
        "snoozed_until": iso(request.snoozed_until),
        "expires_at": iso(request.expires_at),
        "responded_at": iso(request.answered_at),
        "ended_at": iso(request.responded_at),
        "decided_by": str(request.decided_by_id) if request.decided_by_id else None,
        "decided_by_name": request.decided_by.display_name or request.decided_by.email if request.decided_by else "",
        "decided_via": request.decided_via,
    }


def history_shape(decision: Decision) -> dict[str, Any]:
    return {
        "happening": decision.happening,
        "actor": str(decision.actor_id) if decision.actor_id else None,
        "actor_name": decision.actor_name,
        "via": decision.via,
        "note": decision.note,
        "details": decision.details,
        "at": iso(decision.at),
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
