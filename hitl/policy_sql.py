"""The SQL by which what stands is read, and a rule's use is counted, on a connection of whoever asks. What follows from
it is decided in `hitl.policy`.
"""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg

from hitl.conditions import Condition
from hitl.kinds import ApproverKind, PolicyAction, RuleEffect, RuleScope, SwitchScope
from hitl.policy import Approvers, PolicyFacts, RuleFacts, Standing
from hyperagent.lib.text import json_text

# That a person `u` may answer for the run of `user_id` by the policy `y`, if it names them.
_MAY_ANSWER: Final = """u.is_active AND u.kind = 'person' AND NOT (y.require_different_person AND (
                 u.id = %(user_id)s::uuid OR EXISTS (SELECT 1 FROM accounts_serviceaccount s
                                                     WHERE s.user_id = %(user_id)s::uuid AND s.owner_id = u.id)))"""

# Parameters: user_id, tool, call_key. One row, for `standing_of`, without policies about the runs of others. A rule
# whose last use was counted for this very call still stands for it.
READ_STANDING: Final = f"""
SELECT clock_timestamp(),
  (SELECT coalesce(json_agg(p ORDER BY p.position, p.id), '[]') FROM (
    SELECT y.id, y.position, y.name, y.tool, y.risk, y.agent_name, y.action, y.allow_rules, y.approver_kind,
           coalesce(CASE y.approver_kind WHEN 'role' THEN y.approver_role WHEN 'group' THEN g.name END, '') AS approver,
           y.require_different_person AS different_person,
           (SELECT coalesce(json_agg(n.user_id ORDER BY n.user_id), '[]') FROM hitl_policy_approvers n
            JOIN accounts_user u ON u.id = n.user_id AND u.is_active
            WHERE n.policy_id = y.id AND y.approver_kind = 'named') AS named,
           CASE y.approver_kind WHEN 'self' THEN NOT y.require_different_person ELSE EXISTS (
             SELECT 1 FROM accounts_user u
             WHERE {_MAY_ANSWER}
               AND CASE y.approver_kind
                 WHEN 'named' THEN EXISTS (SELECT 1 FROM hitl_policy_approvers n
                                           WHERE n.policy_id = y.id AND n.user_id = u.id)
                 ELSE (y.approver_kind = 'role' AND y.approver_role = 'administrator' AND u.is_staff)
                   OR EXISTS (SELECT 1 FROM accounts_user_groups m JOIN auth_group h ON h.id = m.group_id
                              WHERE m.user_id = u.id
                                AND (m.group_id = y.approver_group_id AND y.approver_kind = 'group'
                                     OR h.name = y.approver_role AND y.approver_kind = 'role'
                                        AND y.approver_role <> 'administrator'))
                 END) END AS somebody_can,
           EXISTS (SELECT 1 FROM accounts_user u WHERE {_MAY_ANSWER} AND u.is_staff) AS an_administrator_can
    FROM hitl_policy y LEFT JOIN auth_group g ON g.id = y.approver_group_id
    WHERE y.is_enabled AND (y.tool IN ('', %(tool)s) OR y.tool ~ '[*?]')
      AND (y.for_person_id IS NULL OR y.for_person_id = %(user_id)s::uuid)
      AND (y.for_group_id IS NULL OR EXISTS (SELECT 1 FROM accounts_user_groups m
                                             WHERE m.user_id = %(user_id)s::uuid AND m.group_id = y.for_group_id))) p),
  (SELECT coalesce(json_agg(r ORDER BY r.created_at, r.id), '[]') FROM (
    SELECT l.id, l.user_id, l.effect, l.scope, l.tool, l.agent_name, l.execution_id, l.conversation_id, l.conditions,
           l.text, l.until, l.created_at,
           l.max_uses - l.uses + CASE WHEN EXISTS (SELECT 1 FROM hitl_ruleuse s WHERE s.call_key = %(call_key)s
                                                   AND s.rule_id = l.id) THEN 1 ELSE 0 END AS uses_left
    FROM hitl_rule l
    WHERE l.user_id = %(user_id)s::uuid AND l.tool = %(tool)s AND l.revoked_at IS NULL
      AND (l.until IS NULL OR l.until > clock_timestamp())) r
   WHERE r.uses_left IS NULL OR r.uses_left > 0)
"""

_WRITE_USE: Final = """
INSERT INTO hitl_ruleuse (rule_id, call_key, execution_id, agent_name, tool, arguments, arguments_hash)
SELECT id, %(call_key)s, %(execution_id)s, %(agent_name)s, tool, %(arguments)s::json, %(arguments_hash)s
FROM hitl_rule WHERE id = %(rule_id)s AND tool = %(tool)s
ON CONFLICT (call_key) DO NOTHING RETURNING id
"""
_ALIVE: Final = "revoked_at IS NULL AND (until IS NULL OR until > clock_timestamp())"
_COUNT_USE: Final = f"""
UPDATE hitl_rule SET uses = uses + 1
WHERE id = %(rule_id)s AND {_ALIVE} AND (max_uses IS NULL OR uses < max_uses) RETURNING id
"""
_COUNTED_BEFORE: Final = f"""
SELECT 1 FROM hitl_ruleuse s JOIN hitl_rule r ON r.id = s.rule_id
WHERE s.call_key = %(call_key)s AND s.rule_id = %(rule_id)s AND s.arguments_hash = %(arguments_hash)s AND {_ALIVE}
"""

# The user's id is kept as text; names are compared without regard to case, so that a switch rather stops too much. In
# the name of a tool `*` stands for anything.
_THROWN: Final = r"""
SELECT u.id IS NOT NULL, s.scope, s.target, s.reason, s.thrown_at
FROM (SELECT 1) one
LEFT JOIN accounts_user u ON u.id = nullif(%(user_id)s, '')::uuid AND u.is_active
LEFT JOIN LATERAL (
  SELECT scope, target, reason, thrown_at FROM hitl_switch
  WHERE lifted_at IS NULL AND (scope = 'installation'
    OR scope = 'user' AND target = %(user_id)s
    OR scope = 'agent' AND lower(target) = lower(%(agent_name)s)
    OR scope = 'tool' AND lower(%(tool)s) LIKE
         replace(replace(replace(replace(lower(target), '\', '\\'), '%%', '\%%'), '_', '\_'), '*', '%%'))
  ORDER BY array_position(ARRAY['installation', 'user', 'agent', 'tool'], scope::text), thrown_at LIMIT 1
) s ON true
"""
OWNER_GONE: Final = "What a run does happens in its person's name, and theirs was deactivated or deleted."


async def read_standing(
    connection: psycopg.AsyncConnection[Any], *, user_id: UUID | None, tool: str, call_key: str = ""
) -> Standing:
    """One query. `call_key`: as it will be given to `use_rule`, so that a call that is decided anew after a crash does
    not lose the use that it has already. What the run brought along (`Standing.preapproved`) is not in here.
    """
    values = {"user_id": user_id, "tool": tool, "call_key": call_key}
    cursor = await connection.execute(READ_STANDING, values)
    row = await cursor.fetchone()
    assert row is not None, "a SELECT without FROM gives one row"
    return standing_of(*row)


def standing_of(now: datetime, policies: list[dict[str, Any]], rules: list[dict[str, Any]]) -> Standing:
    return Standing(now, tuple(_policy(row) for row in policies), tuple(_rule(row) for row in rules))


async def use_rule(
    connection: psycopg.AsyncConnection[Any],
    rule_id: UUID,
    *,
    call_key: str,
    execution_id: UUID,
    agent_name: str,
    tool: str,
    arguments: Any,
    arguments_hash: str,
) -> bool:
    """Counts one use of the rule by the call of this key, and only one however often it is called.

    False: no use is left, or the rule was revoked or is over meanwhile, or the key stands for another call. Then ask.
    """
    values = {
        "rule_id": rule_id,
        "call_key": call_key,
        "execution_id": execution_id,
        "agent_name": agent_name,
        "tool": tool,
        "arguments": json_text(arguments),
        "arguments_hash": arguments_hash,
    }
    counted = False
    async with connection.transaction() as use:
        # The row comes first: a second call of the same key waits here, and finds it.
        if await _gives_a_row(connection, _WRITE_USE, values):
            counted = await _gives_a_row(connection, _COUNT_USE, values)
            if not counted:
                raise psycopg.Rollback(use)
        else:
            counted = await _gives_a_row(connection, _COUNTED_BEFORE, values)
    return counted


async def _gives_a_row(connection: psycopg.AsyncConnection[Any], query: str, values: dict[str, Any]) -> bool:
    return await (await connection.execute(query, values)).fetchone() is not None


async def thrown(connection: psycopg.AsyncConnection[Any], *, user_id: UUID | None, agent_name: str, tool: str) -> str:
    """Why no effect of this tool may begin now, in words for people; "" if it may: a switch, or the run's person is no
    longer there. One query.
    """
    values = {"user_id": str(user_id) if user_id else "", "agent_name": agent_name, "tool": tool}
    cursor = await connection.execute(_THROWN, values)
    row = await cursor.fetchone()
    assert row is not None, "one row, whatever is joined to it"
    owner_is_there, *switch = row
    if switch[0] is not None:
        return why_stopped(*switch)
    return "" if owner_is_there else OWNER_GONE


def why_stopped(scope: str, target: str, reason: str, thrown_at: datetime) -> str:
    match SwitchScope(scope):
        case SwitchScope.INSTALLATION:
            what = "all actions"
        case SwitchScope.USER:
            what = "all actions of this person's runs"
        case SwitchScope.AGENT:
            what = f"all actions of the {target} agent"
        case SwitchScope.TOOL:
            what = f"the tool {target}"
    since = f"{thrown_at:%Y-%m-%d %H:%M} UTC"
    return f"An administrator stopped {what} ({since}): {reason.rstrip('.')}. It takes an administrator to go on."


def _policy(row: dict[str, Any]) -> PolicyFacts:
    approvers = Approvers(
        ApproverKind(row["approver_kind"]),
        row["approver"],
        tuple(UUID(user_id) for user_id in row["named"]),
        row["different_person"],
    )
    return PolicyFacts(
        name=row["name"],
        tool=row["tool"],
        risk=row["risk"],
        agent_name=row["agent_name"],
        action=PolicyAction(row["action"]),
        approvers=approvers,
        allow_rules=row["allow_rules"],
        somebody_can=row["somebody_can"],
        an_administrator_can=row["an_administrator_can"],
    )


def _rule(row: dict[str, Any]) -> RuleFacts:
    return RuleFacts(
        id=UUID(row["id"]),
        user_id=UUID(row["user_id"]),
        effect=RuleEffect(row["effect"]),
        scope=RuleScope(row["scope"]),
        tool=row["tool"],
        agent_name=row["agent_name"],
        execution_id=_uuid(row["execution_id"]),
        conversation_id=_uuid(row["conversation_id"]),
        conditions=tuple(Condition.from_json(condition) for condition in row["conditions"]),
        text=row["text"],
        until=datetime.fromisoformat(row["until"]) if row["until"] else None,
        uses_left=row["uses_left"],
    )


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None
