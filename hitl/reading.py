"""Reading requests: how many wait for whom, and who may decide which. Writes nothing."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import connection

from hyperagent.accounts.scopes import GROUP_ROLES, Role

# The rule of `Request.objects.decidable_by`, for many people and many requests at once. Each kind is a join of its own:
# one join with "or" would compare everybody with everything.
_DECIDERS = """
WITH people AS (
    SELECT id, is_staff FROM accounts_user
    WHERE is_active AND kind = 'person' AND (%(people)s::uuid[] IS NULL OR id = ANY(%(people)s::uuid[]))
), held AS (
    SELECT m.user_id AS id, 'group' AS kind, g.name FROM accounts_user_groups m
    JOIN auth_group g ON g.id = m.group_id JOIN people p ON p.id = m.user_id
    UNION ALL
    SELECT m.user_id, 'role', g.name FROM accounts_user_groups m
    JOIN auth_group g ON g.id = m.group_id JOIN people p ON p.id = m.user_id WHERE g.name = ANY(%(group_roles)s)
    UNION ALL
    SELECT id, 'role', %(administrator)s FROM people WHERE is_staff
), asked AS (
    SELECT r.request_id, r.user_id, r.approver_kind, r.approver_name, r.approver_ids,
           CASE WHEN r.different_person THEN ARRAY[r.user_id, s.owner_id] ELSE '{}' END AS not_these
    FROM hitl_request r JOIN accounts_user o ON o.id = r.user_id AND o.is_active
    LEFT JOIN accounts_serviceaccount s ON s.user_id = r.user_id
    WHERE r.status = 'pending' AND (r.expires_at IS NULL OR r.expires_at > clock_timestamp())
      AND (%(requests)s::uuid[] IS NULL OR r.request_id = ANY(%(requests)s::uuid[]))
      AND (NOT %(awake)s OR r.snoozed_until IS NULL OR r.snoozed_until <= clock_timestamp())
), deciders AS (
    SELECT a.request_id, p.id FROM asked a JOIN people p ON p.id = a.user_id
    WHERE a.approver_kind = 'self' AND a.not_these = '{}'
    UNION ALL
    SELECT a.request_id, h.id FROM asked a JOIN held h ON h.kind = a.approver_kind AND h.name = a.approver_name
    WHERE array_position(a.not_these, h.id) IS NULL
    UNION ALL
    SELECT a.request_id, p.id FROM (SELECT *, unnest(approver_ids) AS named FROM asked WHERE approver_kind = 'named') a
    JOIN people p ON p.id = a.named
    WHERE array_position(a.not_these, p.id) IS NULL
)
"""
_COUNT = f"{_DECIDERS} SELECT id, count(DISTINCT request_id) FROM deciders GROUP BY id"
_NAME = f"{_DECIDERS} SELECT DISTINCT request_id, id FROM deciders"


def pending_by_user(user_ids: Iterable[UUID]) -> dict[UUID, int]:
    """How many requests wait for each of these people: open, in time, not put off, and theirs to decide. Who has none
    is left out. One query.
    """
    return dict(_rows(_COUNT, people=list(set(user_ids)), requests=None, awake=True))


def deciders_of(request_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
    """Who may decide each of these requests at this moment, if it is open. One query."""
    found: dict[UUID, set[UUID]] = {request_id: set() for request_id in request_ids}
    for request_id, user_id in _rows(_NAME, people=None, requests=list(request_ids), awake=False):
        found[request_id].add(user_id)
    return found


def _rows(query: str, **values: Any) -> list[tuple[Any, ...]]:
    values |= {"group_roles": [role.value for role in GROUP_ROLES], "administrator": Role.ADMINISTRATOR.value}
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found
