"""The one place where a request is decided, and where one whose time is over ends undecided."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from hitl.answers import DECISIONS, Response, answer_to
from hitl.models import Request, RequestStatus
from hitl.shapes import request_shape
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import Conflict, NotThere
from hyperagent.lib.wake import wake


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


def respond(user: User, request_id: UUID, response: Response) -> Request:
    """What page, socket, API and command call: checks the answer against the question and decides.

    An equal answer given again changes nothing. Raises NotThere, Refused for an answer that does not fit, and Conflict
    with the request as it is if it was decided otherwise or its time is over.
    """
    request = Request.objects.visible_to(user).filter(request_id=request_id).first()
    if request is None:
        raise NotThere
    answer = answer_to(request.kind, request.question, response)
    done = decide(request_id, by=user, status=response.decision, answer=answer, instructions=response.instructions)
    if not done.changed and not done.agrees:
        message = f"This request is {done.request.status} already. Nothing was changed."
        raise Conflict("already_decided", message, request=request_shape(done.request))
    return done.request


def decide(
    request_id: UUID, *, by: User, status: RequestStatus, answer: dict[str, Any] | None = None, instructions: str = ""
) -> Decided:
    """Decides a pending request: compare-and-set by the database's clock, then the run is woken.

    Raises UnknownRequest and WrongKind. A request that was decided or has expired is left as it is.
    """
    request = Request.objects.visible_to(by).filter(request_id=request_id).first()
    if request is None:
        raise UnknownRequest(f"no request {request_id}")
    wanted = DECISIONS[request.kind]
    if status not in wanted:
        raise WrongKind(f"a request of kind {request.kind} takes {', '.join(sorted(wanted))}, not {status}")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_DECIDE, [status, _json(answer), instructions, by.pk, request_id])
        changed = cursor.fetchone() is not None
        if changed:
            _go_on(cursor, request.execution_id)
    if not changed:
        end_overdue(only=request_id)
    request.refresh_from_db()
    agrees = not changed and request.status == status and request.answer == answer
    return Decided(request, changed, agrees)


def end_overdue(*, only: UUID | None = None) -> int:
    """Requests whose time is over end as timed out, which is nobody's decision, and their runs go on. How many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TIME_OUT, {"only": only})
        ended = cursor.fetchall()
        for execution_id in {execution_id for (execution_id,) in ended}:
            _go_on(cursor, execution_id)
    return len(ended)


def _go_on(cursor: Any, execution_id: UUID) -> None:
    cursor.execute(_READY, [execution_id])
    wake(execution_id)


_DECIDE = """
UPDATE hitl_request SET status = %s, answer = %s::json, user_instructions = %s, decided_by_id = %s,
                        responded_at = clock_timestamp()
WHERE request_id = %s AND status = 'pending' AND (expires_at IS NULL OR expires_at > clock_timestamp())
RETURNING request_id
"""

_TIME_OUT = """
UPDATE hitl_request SET status = 'timed_out', responded_at = clock_timestamp()
WHERE status = 'pending' AND expires_at <= clock_timestamp() AND (%(only)s::uuid IS NULL OR request_id = %(only)s)
RETURNING execution_id
"""

# The run is named, not imported: `agents` stands above.
_READY = "UPDATE agents_execution SET woken_at = clock_timestamp() WHERE id = %s AND ended_at IS NULL"


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)
