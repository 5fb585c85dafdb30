"""Sending webhooks: takes what is due by the database's clock, posts it, and writes down what came of it.

Whoever takes a delivery holds it for LEASE_S. If its process dies meanwhile, the next sweep takes it again, under the
same id: at least once. An endpoint that fails rests, and is tried with one delivery at a time until it answers again,
so that one that hangs costs the queue ten seconds a minute and not ten for each event.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from hyperagent.lib.outside.posting import Answer, Post, post_all
from hyperagent.lib.secrets import Purpose, Unreadable, unseal
from hyperagent.lib.signatures import signed_headers
from hyperagent.notices import actions
from hyperagent.notices.kinds import DELIVERY_PAUSES_S, OPEN, DeliveryStatus, EventType, pause_after
from hyperagent.notices.matters import shown_still
from hyperagent.notices.models import HEAD_CHARS, Delivery

AT_ONCE = 32
LEASE_S = 60
REST_S = 30
"""An endpoint that failed is left alone for so long, whatever else waits for it."""
DISABLED_AFTER_DAYS = 5
UNTRIED_DAYS = 3
"""Where nothing was tried for so long nothing waited, for the longest pause between two tries is a day: what fails then
is its first failure."""
SWEEP_S = 40.0
"""No new batch is begun after so long: the sweep of the next minute goes on."""

LOST = "The secret of this endpoint cannot be read, because SECRET_KEY was changed. Delete it and add it anew."
NO_MORE = "What it is about is not shown to this webhook's owner any more."


@dataclass(frozen=True, slots=True)
class Taken:
    """A delivery that this process may send now. `attempt`: its number, from 1; a later one makes this one void."""

    id: UUID
    attempt: int
    event_id: str
    type: str
    payload: dict[str, Any]
    endpoint_id: UUID
    user_id: UUID | None
    url: str
    secret_sealed: str
    taken_at_s: int


def deliver_one(delivery_id: UUID) -> None:
    """If it is due; else nothing."""
    _send(_take(only=delivery_id))


def deliver_due() -> int:
    """Whatever is due, in batches, for up to SWEEP_S. Returns how many tries were made."""
    began_s, tries = time.monotonic(), 0
    while time.monotonic() - began_s < SWEEP_S and (taken := _take()):
        _send(taken)
        tries += len(taken)
    return tries


def body_of(payload: dict[str, Any]) -> bytes:
    """The same bytes at every try."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def _take(*, only: UUID | None = None) -> list[Taken]:
    with transaction.atomic(), connection.cursor() as cursor:
        wanted = _OLDEST if only is None else _THIS
        cursor.execute(_TAKE.format(wanted=wanted), {"only": only, "limit": AT_ONCE, "lease": LEASE_S})
        return [Taken(*row) for row in cursor.fetchall()]


def _send(taken: Sequence[Taken]) -> None:
    posts: dict[UUID, Post] = {}
    for one in taken:
        if not _is_theirs(one):
            _drop(one)
            continue
        try:
            posts[one.id] = _post_of(one)
        except Unreadable:
            _record(one, Answer(None, "", LOST))
    sendable = [one for one in taken if one.id in posts]
    if not sendable:
        return
    answers = asyncio.run(post_all([posts[one.id] for one in sendable], allow_private=settings.WEBHOOK_ALLOW_PRIVATE))
    for one, answer in zip(sendable, answers, strict=True):
        _record(one, answer)


def _is_theirs(one: Taken) -> bool:
    """It may be days since it was written."""
    return one.user_id is None or shown_still(one.user_id, EventType(one.type), one.payload["data"])


def _drop(one: Taken) -> None:
    Delivery.objects.filter(pk=one.id, attempts=one.attempt, status__in=OPEN).update(
        status=DeliveryStatus.GIVEN_UP, last_error=NO_MORE
    )


def _post_of(one: Taken) -> Post:
    body = body_of(one.payload)
    secret = unseal(one.secret_sealed, Purpose.WEBHOOK)
    signed = signed_headers(secret, event_id=one.event_id, timestamp_s=one.taken_at_s, body=body)
    return Post(one.url, {"content-type": "application/json", "user-agent": "HyperAgent-Webhooks/1", **signed}, body)


def _record(one: Taken, answer: Answer) -> None:
    pause_s = pause_after(one.attempt, DELIVERY_PAUSES_S)
    if not answer.error:
        status = DeliveryStatus.DELIVERED
    else:
        status = DeliveryStatus.GIVEN_UP if pause_s is None else DeliveryStatus.FAILED
    values: dict[str, str | int | UUID | None] = {
        "id": one.id,
        "attempt": one.attempt,
        "status": status.value,
        "code": answer.status,
        "head": answer.head[:HEAD_CHARS],
        "error": answer.error[:HEAD_CHARS],
        "pause": pause_s or 0,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        # The endpoint first, as the verbs of `actions` do.
        cursor.execute(_LOCK, [one.endpoint_id])
        cursor.execute(_RECORD, values)
        if cursor.fetchone() is None:
            return  # Sent again, given up or deleted meanwhile.
        if not answer.error:
            cursor.execute(_WORKS, [one.endpoint_id])
            return
        limits = {"rest": REST_S, "days": DISABLED_AFTER_DAYS, "untried": UNTRIED_DAYS}
        cursor.execute(_FAILS, {"id": one.endpoint_id, **limits})
        (is_hopeless,) = cursor.fetchone()
        if answer.is_gone:
            actions.disable(one.endpoint_id, why="It answered 410 Gone: it wants no more.")
        elif is_hopeless:
            days = f"Nothing could be delivered for {DISABLED_AFTER_DAYS} days."
            actions.disable(one.endpoint_id, why=f"{days} The last error: {answer.error}")


_OPEN = "status IN ('pending', 'failed') AND next_attempt_at <= clock_timestamp()"

_MAY_BE_SENT = """
    e.disabled_at IS NULL AND e.deleted_at IS NULL AND (e.resting_until IS NULL OR e.resting_until <= clock_timestamp())
    AND (e.user_id IS NULL OR EXISTS (SELECT FROM accounts_user u WHERE u.id = e.user_id AND u.is_active))
"""

_THIS = f"""
    SELECT d.id FROM notices_delivery d JOIN notices_endpoint e ON e.id = d.endpoint_id
    WHERE d.id = %(only)s AND {_MAY_BE_SENT}
"""

# The oldest of each endpoint, by an index; of one that fails one only, and only when it has rested.
_OLDEST = f"""
    SELECT d.id FROM notices_endpoint e CROSS JOIN LATERAL (
        SELECT id, next_attempt_at FROM notices_delivery WHERE endpoint_id = e.id AND {_OPEN}
        ORDER BY created_at, id LIMIT CASE WHEN e.failing_since IS NULL THEN %(limit)s ELSE 1 END) d
    WHERE {_MAY_BE_SENT} ORDER BY d.next_attempt_at LIMIT %(limit)s
"""

_TAKE = f"""
WITH wanted AS MATERIALIZED ({{wanted}}),
due AS (
    SELECT id FROM notices_delivery WHERE id IN (SELECT id FROM wanted) AND {_OPEN}
    FOR UPDATE SKIP LOCKED
)
UPDATE notices_delivery d
SET attempts = d.attempts + 1, last_attempt_at = clock_timestamp(),
    next_attempt_at = clock_timestamp() + %(lease)s * interval '1 second'
FROM due, notices_endpoint e
WHERE d.id = due.id AND e.id = d.endpoint_id
RETURNING d.id, d.attempts, d.event_id, d.type, d.payload, e.id, e.user_id, e.url, e.secret_sealed,
          extract(epoch FROM clock_timestamp())::bigint
"""

_LOCK = "SELECT FROM notices_endpoint WHERE id = %s FOR NO KEY UPDATE"

_RECORD = """
UPDATE notices_delivery
SET status = %(status)s, last_status_code = %(code)s, response_head = %(head)s, last_error = %(error)s,
    next_attempt_at = clock_timestamp() + %(pause)s * interval '1 second',
    delivered_at = CASE WHEN %(status)s = 'delivered' THEN clock_timestamp() END
WHERE id = %(id)s AND attempts = %(attempt)s AND status IN ('pending', 'failed')
RETURNING id
"""

_WORKS = "UPDATE notices_endpoint SET failing_since = NULL, resting_until = NULL WHERE id = %s"

# Until when it rests tells when it failed last.
_FAILS = """
UPDATE notices_endpoint
SET failing_since = CASE WHEN resting_until < clock_timestamp() - %(untried)s * interval '1 day' THEN clock_timestamp()
                         ELSE coalesce(failing_since, clock_timestamp()) END,
    resting_until = clock_timestamp() + %(rest)s * interval '1 second'
WHERE id = %(id)s
RETURNING coalesce(failing_since <= clock_timestamp() - %(days)s * interval '1 day', false)
"""
