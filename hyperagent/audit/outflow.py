"""The log told outside, to a SIEM: AUDIT_LOG_STREAM is `stdout` (a JSON line an event) or an address to which batches
are posted, signed as webhooks are. At least once, in order, from where the last one ended, over restarts.
"""

import asyncio
import hashlib
import json
import logging
import time
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from hyperagent.audit import shapes
from hyperagent.audit.models import AuditCut, AuditEvent, AuditOutflow
from hyperagent.audit.sealing import seal
from hyperagent.audit.sql import changed
from hyperagent.lib.outside.posting import Post, post_all
from hyperagent.lib.signatures import signed_headers

STDOUT: Final = "stdout"
LINES: Final = "hyperagent.audit.stream"
"""The logger whose lines are the events, and nothing else."""
AT_ONCE: Final = 500
LEASE_S: Final = 60
WORK_S: Final = 40.0
_PAUSES_S: Final = (5, 30, 60, 300, 900, 3_600)
_lines = logging.getLogger(LINES)
log = structlog.get_logger(__name__)


def destination_of(target: str) -> str:
    """What its row is called: an address may hold a token, so only its hash is kept."""
    return target if target in ("", STDOUT) else hashlib.sha256(target.encode()).hexdigest()


def tell(target: str, *, work_s: float = WORK_S) -> int:
    """Seals, and sends what has not been told yet, for up to `work_s`. Returns how many events were."""
    ends_s, told = time.monotonic() + work_s, 0
    seal()
    if not target:
        return 0
    destination = destination_of(target)
    # One that is told for the first time hears from where the log begins now.
    begins = AuditCut.objects.order_by("-number").values_list("number", flat=True).first() or 0
    AuditOutflow.objects.get_or_create(destination=destination, defaults={"number": begins})
    while time.monotonic() < ends_s and (sent := _tell_some(target, destination)):
        told += sent
    return told


def _tell_some(target: str, destination: str) -> int:
    """How many; 0 if there is nothing to tell, it rests, or another process tells it."""
    taken = _take(destination)
    if taken is None:
        return 0
    flow_id, number, until, tries = taken
    rows = list(AuditEvent.objects.filter(number__gt=number, number__lte=until).order_by("number")[:AT_ONCE])
    problem = "" if not rows else _write(rows) if target == STDOUT else _post(target, rows)
    last = rows[-1].number or until if rows else until
    # Only what this process took: if it took longer than its lease, another tells the same once more.
    mine = AuditOutflow.objects.filter(pk=flow_id, number=number, tries=tries)
    if problem:
        pause_s = _PAUSES_S[min(tries, len(_PAUSES_S)) - 1]
        changed(_REST, [pause_s, problem[:500], flow_id, number, tries])
        log.warning("audit.not_told", destination=destination[:12], events=len(rows), tries=tries, problem=problem)
        return 0
    mine.update(number=last, until=None, tries=0, next_at=Now(), delivered_at=Now(), problem="")
    return len(rows)


def _take(destination: str) -> tuple[UUID, int, int, int] | None:
    """What is to be told next, held for LEASE_S. The same batch until it is taken, so that its id stays."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TAKE, {"destination": destination, "at_once": AT_ONCE, "lease": LEASE_S})
        row = cursor.fetchone()
    return None if row is None else (row[0], row[1], row[2], row[3])


def _write(rows: list[AuditEvent]) -> str:
    for row in rows:
        _lines.info(shapes.json_line(row))
    for handler in _lines.handlers:
        handler.flush()
    return ""


def _post(address: str, rows: list[AuditEvent]) -> str:
    """Empty, or why it does not count as told."""
    first, last = rows[0].number, rows[-1].number
    body = json.dumps({"events": [shapes.told(row) for row in rows]}, ensure_ascii=False, separators=(",", ":"))
    content = body.encode()
    signed = signed_headers(
        settings.CONFIG.audit_log_stream_secret.get_secret_value(),
        event_id=f"audit-{first}-{last}",
        timestamp_s=int(time.time()),
        body=content,
    )
    headers = {"content-type": "application/json", "user-agent": "HyperAgent-Audit/1", **signed}
    # The operator's own choice of address, and most such servers stand within.
    (answer,) = asyncio.run(post_all([Post(address, headers, content)], allow_private=True))
    return answer.error


_TAKE = """
UPDATE audit_outflow SET
    until = coalesce(until, least(number + %(at_once)s, (SELECT h.number FROM audit_head h))),
    tries = tries + 1, next_at = clock_timestamp() + %(lease)s * interval '1 second'
WHERE destination = %(destination)s AND next_at <= clock_timestamp()
  AND number < (SELECT h.number FROM audit_head h)
RETURNING id, number, until, tries
"""

_REST = """
UPDATE audit_outflow SET next_at = clock_timestamp() + %s * interval '1 second', problem = %s
WHERE id = %s AND number = %s AND tries = %s
"""
