"""The one place where a request is decided."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from hitl.models import Request, RequestKind, RequestStatus
from hyperagent.accounts.models import User
from hyperagent.lib.wake import wake

DECISIONS = frozenset({RequestStatus.APPROVED, RequestStatus.DENIED, RequestStatus.ANSWERED})


class UnknownRequest(LookupError):
    """There is no such request, or it is not this person's to see."""


@dataclass(frozen=True, slots=True)
class WrongKind(Exception):
    """The decision does not fit the kind of request."""

    message: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The request after the call. `changed`: this call decided it; `agrees`: an equal decision had been made before."""

    request: Request
    changed: bool
    agrees: bool


def decide(
    request_id: UUID, *, by: User, status: RequestStatus, answer: dict[str, Any] | None = None, instructions: str = ""
) -> Decided:
    """Decides a pending request: compare-and-set by the database's clock, then the run is woken.

    Raises UnknownRequest and WrongKind. A request that was decided or has expired is left as it is.
    """
    request = Request.objects.filter(request_id=request_id, user=by).first()
    if request is None:
        raise UnknownRequest(f"no request {request_id}")
    wanted = {RequestStatus.APPROVED, RequestStatus.DENIED} if request.kind == RequestKind.APPROVAL else DECISIONS
    if status not in wanted:
        raise WrongKind(f"a request of kind {request.kind} takes {', '.join(sorted(wanted))}, not {status}")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_DECIDE, [status, _json(answer), instructions, by.pk, request_id])
        changed = cursor.fetchone() is not None
        if changed:
            cursor.execute(_READY, [request.execution_id])
            wake(request.execution_id)
    request.refresh_from_db()
    agrees = not changed and request.status == status and request.answer == answer
    return Decided(request, changed, agrees)


_DECIDE = """
UPDATE hitl_request SET status = %s, answer = %s::json, user_instructions = %s, decided_by_id = %s,
                        responded_at = clock_timestamp()
WHERE request_id = %s AND status = 'pending' AND (expires_at IS NULL OR expires_at > clock_timestamp())
RETURNING request_id
"""

# The run is named, not imported: `agents` stands above.
_READY = "UPDATE agents_execution SET woken_at = clock_timestamp() WHERE id = %s AND ended_at IS NULL"


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)
