"""How standing rules and switches look to browsers and programs. Pure: a row in, a JSON value out; no query."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hitl.kinds import SwitchScope
from hitl.models import Rule, Switch
from hyperagent.accounts.models import User
from hyperagent.accounts.personal import BLANK
from hyperagent.lib.times import iso


def rule_shape(rule: Rule, *, now: datetime, saved: bool = True) -> dict[str, Any]:
    """`saved`: false for one that is only shown as it would be."""
    return {
        "id": str(rule.pk) if saved else None,
        "effect": rule.effect,
        "scope": rule.scope,
        "execution_id": _text(rule.execution_id),
        "conversation_id": _text(rule.conversation_id),
        "tool": rule.tool,
        "agent_name": rule.agent_name,
        "conditions": [] if rule.conditions == BLANK else rule.conditions,
        "text": rule.text,
        "until": iso(rule.until),
        "max_uses": rule.max_uses,
        "uses": rule.uses,
        "state": rule_state(rule, now=now),
        "made_from": _text(rule.made_from),
        "created_at": iso(rule.created_at) if saved else None,
        "revoked_at": iso(rule.revoked_at),
        "revoked_by": _text(rule.revoked_by_id),
        "revoked_by_name": _email(rule.revoked_by),
    }


def rule_state(rule: Rule, *, now: datetime) -> str:
    if rule.revoked_at is not None:
        return "revoked"
    if rule.until is not None and rule.until <= now:
        return "over"
    return "used_up" if rule.max_uses is not None and rule.uses >= rule.max_uses else "standing"


def switch_shape(switch: Switch, *, people: Mapping[str, str]) -> dict[str, Any]:
    """`people`: `hitl.switches.people_of`. Whether an agent or tool of that name exists is not known here."""
    by_name = switch.scope in (SwitchScope.AGENT, SwitchScope.TOOL)
    return {
        "id": str(switch.pk),
        "scope": switch.scope,
        "target": switch.target,
        "target_name": people.get(switch.target, "") if switch.scope == SwitchScope.USER else switch.target,
        "target_checked": not by_name,
        "reason": switch.reason,
        "thrown_by": _text(switch.thrown_by_id),
        "thrown_by_name": _email(switch.thrown_by),
        "thrown_at": iso(switch.thrown_at),
        "lifted_by": _text(switch.lifted_by_id),
        "lifted_by_name": _email(switch.lifted_by),
        "lifted_at": iso(switch.lifted_at),
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _email(user: User | None) -> str:
    return user.email if user else ""
