"""Requests as runners open them, written at once."""

import uuid
from copy import deepcopy
from typing import Any

from hitl.deadlines import Deadlines
from hitl.models import Request
from hitl.store import opening
from tests.faces.runs import make_request, make_run
from tests.hitl.standing import question_of

MAIL = {"to": ["bob@corp.com"], "subject": "Hello", "body": "Hi", "options": {"copies": 1}}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["to", "subject", "body"],
    "properties": {
        "to": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "subject": {"type": "string", "maxLength": 200},
        "body": {"type": "string"},
        "reply_to": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "options": {
            "type": "object",
            "additionalProperties": False,
            "required": ["copies"],
            "properties": {"copies": {"type": "integer", "maximum": 5}},
        },
    },
}
ROLE = {"kind": "role", "name": "reviewer", "user_ids": [], "different_person": False}


def mail_question(**more: Any) -> dict[str, Any]:
    """As the gateway asks before a mail leaves."""
    return {**question_of("send_email", deepcopy(MAIL), schema=SCHEMA), "question": "Send this mail?", **more}


def ask(user: Any, kind: str = "approval", *, question: Any = None, approvers: Any = None, **fields: Any) -> Request:
    """A run of this user waits for an answer to this question (whether a mail may be sent, without one)."""
    run = make_run(user, conversation_id=fields.pop("conversation_id", None), status="awaiting_user")
    asked = (mail_question() if kind == "approval" else {"question": "Which?"}) if question is None else question
    if approvers is not None:
        asked = {**asked, "approvers": approvers}
    columns = opening(
        uuid.uuid4(), agent_id=uuid.uuid4(), agent_name="mail", kind=kind, question=asked, deadlines=Deadlines()
    )
    left_out = ("request_id", "agent_id", "kind", "question", "remind_s", "expires_s")
    kept = {name: value for name, value in columns.items() if name not in left_out}
    return make_request(run, kind, question=asked, **kept, **fields)
