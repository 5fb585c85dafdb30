"""Approvals as the API tells them and as the events of a run name them, for the page to show. No browser here."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.engine import events as e
from hyperagent.lib.hashes import arguments_hash
from tests.page import recorded
from tests.page.recorded import ROOT, STEPS, Recorded, agent_id

Json = dict[str, Any]

BODY = """Dear Bob,

the numbers are in: pgvector answers our 95th percentile in 12 ms at 300,000 chunks, and nothing new has to be run.
I would stay with it and look again at about two million chunks.

Best regards
Alice"""
MAIL: Json = {
    "to": ["bob@example.com", "carol@example.com"],
    "cc": ["team@example.com"],
    "subject": "Vector database: my recommendation",
    "body": BODY,
}
MAIL_SCHEMA: Json = {
    "type": "object",
    "required": ["to", "subject", "body"],
    "properties": {
        "to": {"type": "array", "items": {"type": "string"}, "description": "Addresses of those who get it."},
        "cc": {"type": "array", "items": {"type": "string"}, "default": []},
        "subject": {"type": "string"},
        "body": {"type": "string"},
    },
}
CODE = "import numpy as np\n\nsizes = np.array([1e4, 1e5, 3e5])\nprint(np.polyfit(sizes, [1.3, 6.2, 12.0], 2))\n"
BEFORE = "retries = 3\ntimeout_s = 10\nverbose = false\n"
AFTER = "retries = 5\ntimeout_s = 10\nverbose = false\ncolour = true\n"


def call(tool: str, arguments: Json, *, preview: Json, schema: Json | None = None, risk: str = "high") -> Json:
    return {
        "id": str(uuid.uuid4()),
        "tool": tool,
        "arguments": arguments,
        "arguments_hash": arguments_hash(tool, arguments),
        "risk": risk,
        "irreversible": risk == "high",
        "effect": "write",
        "preview": preview,
        "schema": schema or {"type": "object", "properties": {}},
    }


def mail_call(**changed: Any) -> Json:
    arguments = {**MAIL, **changed}
    return call("send_email", arguments, preview={"kind": "mail", **arguments}, schema=MAIL_SCHEMA)


def code_call() -> Json:
    schema = {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}
    preview = {"kind": "code", "language": "python", "code": CODE}
    return call("execute_code", {"code": CODE}, preview=preview, schema=schema, risk="medium")


def diff_call() -> Json:
    preview = {"kind": "diff", "path": "settings.toml", "before": BEFORE, "after": AFTER}
    return call("write_file", {"path": "settings.toml", "text": AFTER}, preview=preview, risk="medium")


def note_call() -> Json:
    schema = {
        "type": "object",
        "required": ["title", "priority"],
        "properties": {
            "title": {"type": "string"},
            "priority": {"enum": ["low", "normal", "urgent"]},
            "days": {"type": "integer"},
            "public": {"type": "boolean"},
            "labels": {"type": "object"},
        },
    }
    arguments = {
        "title": "Look at chunk counts",
        "priority": "normal",
        "days": 14,
        "public": False,
        "labels": {"team": "search"},
    }
    return call("make_ticket", arguments, preview={"kind": "arguments"}, schema=schema, risk="medium")


def approval(asked: Json, **more: Any) -> Json:
    """A pending request as `GET /hitl/requests` tells it to who may decide it."""
    now = datetime.now(UTC)
    return {
        "request_id": str(uuid.uuid4()),
        "kind": "approval",
        "stage": "tool",
        "execution_id": str(uuid.uuid4()),
        "conversation_id": str(uuid.uuid4()),
        "agent_id": agent_id("write"),
        "agent_name": "mail",
        "tool_names": [asked["tool"]],
        "tool_calls": [asked],
        "arguments_hash": asked["arguments_hash"],
        "risk": asked["risk"],
        "why": f"{asked['tool']} cannot be undone." if asked["irreversible"] else "",
        "task_description": "Send the recommendation to Bob and the team",
        "question": "Send this mail?" if asked["tool"] == "send_email" else "",
        "options": [],
        "details": {},
        "approvers": {"kind": "self", "name": "", "different_person": False},
        "may_decide": True,
        "was_reminded": False,
        "rules_allowed": not asked["irreversible"],
        "status": "pending",
        "answer": None,
        "edited_arguments": None,
        "user_instructions": "",
        "created_at": now.isoformat(),
        "remind_at": (now + timedelta(minutes=2)).isoformat(),
        "snoozed_until": None,
        "expires_at": (now + timedelta(hours=72, minutes=1)).isoformat(),
        "responded_at": None,
        "ended_at": None,
        "decided_by": None,
        "decided_by_name": "",
        "decided_via": "",
        **more,
    }


def waiting_for(*requests: Json) -> Recorded:
    """A planned run whose mail agent waits for these."""
    run = Recorded()
    recorded.planned(run)
    recorded.gathered(run)
    run.agent("write", "mail", "awaiting_user", task=STEPS[4].task, step_id="write")
    for request in requests:
        ask(run, request)
    run.tell(ROOT, e.StatusChanged(status="awaiting_user"))
    return run


def ask(run: Recorded, request: Json, *, agent: str = "write") -> None:
    run.tell(
        agent,
        e.HitlRequired(
            request_id=request["request_id"],
            agent_name=request["agent_name"],
            tool_names=tuple(request["tool_names"]),
            task_description=request["task_description"],
        ),
    )


def listed(*requests: Json) -> tuple[int, Json]:
    return (200, {"next": None, "previous": None, "results": list(requests)})
