"""Requests, rules and policies of people on the live site, written into its database as others would write them.
Who uses it needs the site's `query` alone.
"""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.page.asked import Json


def open_request(site: Any, owner: Any, call: Json, **more: Any) -> str:
    """An approval that waits for its owner, unless told otherwise; its id."""
    question = {
        "question": more.pop("question", ""),
        "tool_names": [call["tool"]],
        "tool_calls": [call],
        "risk": call["risk"],
        "rules_allowed": not call["irreversible"],
        "stage": "tool",
        "why": "",
    }
    row = {
        "request_id": str(uuid.uuid4()),
        "execution_id": str(uuid.uuid4()),
        "conversation_id": str(uuid.uuid4()),
        "agent_id": str(uuid.uuid4()),
        "agent_name": "mail",
        "user_id": owner.id,
        "kind": "approval",
        "stage": "tool",
        "question": json.dumps(question),
        "tool_names": [call["tool"]],
        "task_description": "Tell them",
        "risk": call["risk"],
        "arguments_hash": call["arguments_hash"],
        "status": "pending",
        "user_instructions": "",
        "approver_kind": "self",
        "approver_name": "",
        "approver_ids": [],
        "different_person": False,
        "created_at": "2026-11-20T09:00:00Z",
        **more,
    }
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    found = site.query(
        f"INSERT INTO hitl_request ({names}) VALUES ({marks}) RETURNING request_id",
        *[uuids(value) if name == "approver_ids" else value for name, value in row.items()],
    )
    return str(found[0]["request_id"])


def uuids(values: list[Any]) -> list[uuid.UUID]:
    return [uuid.UUID(str(value)) for value in values]


def make_rule(site: Any, owner: Any, text: str, **more: Any) -> str:
    row = {
        "id": str(uuid.uuid4()),
        "user_id": owner.id,
        "effect": "allow",
        "scope": "rule",
        "tool": "send_email",
        "agent_name": "",
        "conditions": "[]",
        "text": text,
        **more,
    }
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    site.query(f"INSERT INTO hitl_rule ({names}) VALUES ({marks}) RETURNING id", *row.values())
    return str(row["id"])


def join_group(site: Any, member: Any, group: str) -> None:
    site.query("INSERT INTO auth_group (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING id", group)
    wanted = "INSERT INTO accounts_user_groups (user_id, group_id) SELECT %s, id FROM auth_group WHERE name = %s"
    site.query(f"{wanted} RETURNING id", member.id, group)


@contextmanager
def policy(site: Any, tool: str, **more: Any) -> Iterator[None]:
    """While it stands, calls of the tool are asked about."""
    row = {
        "name": f"test {uuid.uuid4()}",
        "position": 1,
        "is_enabled": True,
        "tool": tool,
        "risk": "",
        "agent_name": "",
        "action": "ask",
        "approver_kind": "self",
        "approver_role": "",
        "require_different_person": False,
        "allow_rules": False,
        "changed_at": "2026-11-20T09:00:00Z",
        **more,
    }
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    site.query(f"INSERT INTO hitl_policy ({names}) VALUES ({marks}) RETURNING id", *row.values())
    try:
        yield
    finally:
        site.query("DELETE FROM hitl_policy WHERE name = %s RETURNING id", row["name"])
