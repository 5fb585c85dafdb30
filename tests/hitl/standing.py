"""What tests of policies and rules share: calls and facts as values, and rows of a request that asks about a call."""

import uuid
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, settings

from hitl.conditions import Condition
from hitl.kinds import Op, Risk, RuleEffect, RuleScope
from hitl.policy import Call, RuleFacts
from hyperagent.lib.hashes import arguments_hash

# A crowded machine is no fault of what is tested.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ALICE_ID, RUN, CONVERSATION = (uuid.UUID(int=number) for number in (1, 2, 3))
MAIL = {"to": ["bob@corp.com"], "subject": "Hello", "body": "Hi", "cc": [], "bcc": []}
AT_CORP = Condition("to", Op.DOMAIN, "corp.com")


def a_call(**fields: Any) -> Call:
    """Something that has to be asked about and could be undone."""
    values: dict[str, Any] = {
        "tool": "write_note",
        "risk": Risk.MEDIUM,
        "irreversible": False,
        "requires_approval": True,
        "agent_name": "mail",
        "arguments": MAIL,
        "execution_id": RUN,
        "user_id": ALICE_ID,
        "conversation_id": CONVERSATION,
    }
    return Call(**(values | fields))


def a_rule(effect: RuleEffect = RuleEffect.ALLOW, **fields: Any) -> RuleFacts:
    """Of Alice, about every call of the tool."""
    values: dict[str, Any] = {
        "id": uuid.uuid4(),
        "user_id": ALICE_ID,
        "effect": effect,
        "scope": RuleScope.RULE,
        "tool": "write_note",
        "text": "As it was shown.",
    }
    return RuleFacts(**(values | fields))


def question_of(tool: str = "write_note", arguments: Any = None, **call: Any) -> dict[str, Any]:
    """As the gateway asks about one call."""
    arguments = MAIL if arguments is None else arguments
    shown = {
        "id": "call-1",
        "tool": tool,
        "arguments": arguments,
        "arguments_hash": arguments_hash(tool, arguments),
        "risk": "medium",
        "irreversible": False,
        "effect": "write",
        "preview": {"kind": "arguments"},
        "schema": {"type": "object", "properties": {name: {} for name in arguments}},
    }
    return {"question": "May it?", "tool_names": [tool], "stage": "tool", "tool_calls": [shown | call]}
