"""The one place where a request is decided, or put off."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext as _

from hitl import calls, rules
from hitl.answers import DECISIONS, Response, answer_to
from hitl.conditions import Remember
from hitl.ending import end_overdue, go_on
from hitl.kinds import SNOOZED, Happening, RequestKind, Via
from hitl.models import Decision, Request, RequestStatus
from hitl.shapes import request_shape
from hyperagent.accounts.models import User
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.labels import said
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused

MAX_AT_ONCE = 100
SNOOZE_S = 3600


@dataclass(frozen=True, slots=True)
class Decided:
    """The request after the call. `changed`: this call decided it; `agrees`: an equal decision had been made before."""

    request: Request
    changed: bool
    agrees: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one of many: the request as it is now, or why it was not decided."""

    request_id: UUID
    request: Request | None
    refused: Refused | None


def respond(user: User, request_id: UUID, response: Response, *, via: Via) -> Request:
    """What page, socket, API, admin and command call: checks the answer against the question and decides.

    An equal answer given again changes nothing, unless it asks for a rule that the first did not make. Raises NotThere;
    NotAllowed for who may only look; Refused for an answer that does not fit; Conflict with the request as it is if it
    was decided otherwise, its time is over, or it is not what this person was shown.
    """
    request = Request.objects.visible_to(user).filter(request_id=request_id).first()
    if request is None:
        raise NotThere
    if not Request.objects.decidable_by(user).filter(request_id=request_id).exists():
        raise _not_theirs()
    if response.arguments_hash and response.arguments_hash != request.arguments_hash:
        raise _changed(user, request_id)
    if response.decision == SNOOZED:
        _snooze(user, request, response, via=via)
        return _now(user, request_id)
    try:
        answer = answer_to(request.kind, request.question, response)
    except Refused:
        if request.status == RequestStatus.PENDING:
            raise
        raise _decided_already(user, request_id) from None
    done = decide(
        request_id,
        by=user,
        status=RequestStatus(response.decision),
        answer=answer,
        instructions=response.instructions,
        via=via,
        remember=response.remember,
        key=response.key,
    )
    if not done.changed and not done.agrees:
        raise _decided_already(user, request_id)
    return _now(user, request_id)


def respond_to_many(user: User, request_ids: Iterable[UUID], response: Response, *, via: Via) -> list[Outcome]:
    """The same answer to each of these, each decided for itself: what cannot be done does not stop the others. Only
    approvals are decided like this; whatever is open may be put off.

    Raises Refused for more than a hundred, or for an answer that fits one request only.
    """
    wanted = list(dict.fromkeys(request_ids))
    if len(wanted) > MAX_AT_ONCE:
        words = _("{count} requests at once; at most {limit} are taken. Send them in parts.").format(
            count=len(wanted), limit=MAX_AT_ONCE
        )
        raise Refused.at("request_ids", words)
    bare = Response(response.decision, instructions=response.instructions, snooze_until=response.snooze_until)
    if response != bare or response.decision == RequestStatus.ANSWERED:
        raise Refused("invalid", _("Many at once can be approved, denied or snoozed, and nothing else can be said."))
    others = set() if response.decision == SNOOZED else _no_approvals(user, wanted)
    return [
        Outcome(request_id, None, _one_by_one()) if request_id in others else _outcome(user, request_id, response, via)
        for request_id in wanted
    ]


def _no_approvals(user: User, request_ids: Iterable[UUID]) -> set[UUID]:
    """Those of them that this person may see and that are of another kind."""
    seen = Request.objects.visible_to(user).filter(pk__in=list(request_ids))
    return set(seen.exclude(kind=RequestKind.APPROVAL).values_list("pk", flat=True))


def _one_by_one() -> Refused:
    words = _("Only approvals are decided many at once. Open this request and decide it by itself.")
    return Refused("one_by_one", words)


def _outcome(user: User, request_id: UUID, response: Response, via: Via) -> Outcome:
    try:
        return Outcome(request_id, respond(user, request_id, response, via=via), None)
    except Refused as refused:
        return Outcome(request_id, None, refused)


def decide(
    request_id: UUID,
    *,
    by: User,
    status: RequestStatus,
    answer: dict[str, Any] | None = None,
    instructions: str = "",
    via: Via = Via.API,
    remember: Remember | None = None,
    key: str = "",
) -> Decided:
    """Decides a pending request: compare-and-set by the database's clock, its row of the history, the rule that is to
    be made of it, and the wake-up of the run, in one transaction.

    Who may is asked with the row locked: whoever lost the role a moment ago cannot. Raises NotThere, NotAllowed and
    Refused; Conflict for a row that was tampered with. A request that was decided or has expired is left as it is.
    """
    request = Request.objects.visible_to(by).filter(request_id=request_id).first()
    if request is None:
        raise NotThere
    wanted = DECISIONS[request.kind]
    if status not in wanted:
        words = _("A request of kind {kind} takes {names}, not {status}.").format(
            kind=request.kind, names=", ".join(sorted(wanted)), status=status
        )
        raise Refused.at("decision", words)
    given = _Given(status, answer, instructions, via, key)
    with transaction.atomic():
        request = _locked(request, by)
        is_pending = request.status == RequestStatus.PENDING
        is_intact = status != RequestStatus.APPROVED or calls.is_intact(request.question, request.arguments_hash)
        if is_pending and not is_intact:
            _note(request, Happening.REFUSED, given, by=by, details={"reason": "its arguments do not fit their hash"})
        changed = is_pending and is_intact and _set(request, given, by=by, remember=remember)
    if is_pending and not is_intact:
        raise _changed(by, request_id)
    if not changed:
        end_overdue(only=request_id)
    request.refresh_from_db()
    agrees = not changed and request.status == status and request.answer == answer
    agrees = agrees and (remember is None or _made_with(request, remember, by=by, key=key))
    return Decided(request, changed, agrees)


def _made_with(request: Request, remember: Remember, *, by: User, key: str) -> bool:
    """Whether the decision made this rule; by its key a message is known to be the one that decided."""
    rule = rules.made_with(request, by=by)
    if rule is None:
        return False
    made = request.decisions.filter(actor=by, happening=request.status)
    is_same_message = bool(key) and any(decision.details.get("key") == key for decision in made)
    return is_same_message or rules.is_as_wanted(rule, remember)


@dataclass(frozen=True, slots=True)
class _Given:
    """A decision as it came."""

    status: RequestStatus
    answer: dict[str, Any] | None
    instructions: str
    via: Via
    key: str = ""


def _locked(request: Request, by: User) -> Request:
    """The row as it is now, for this transaction alone, if this person may decide it now.

    The run's row first: its driver locks it before it closes requests, so that neither waits for the other for ever.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM agents_execution WHERE id = %s FOR NO KEY UPDATE", [request.execution_id])
    row = Request.objects.select_for_update().filter(pk=request.pk).first()
    person = User.objects.filter(pk=by.pk, is_active=True).first()
    if row is None or person is None:
        raise NotThere
    if not Request.objects.decidable_by(person).filter(pk=row.pk).exists():
        raise _not_theirs() if Request.objects.visible_to(person).filter(pk=row.pk).exists() else NotThere
    return row


def _set(request: Request, given: _Given, *, by: User, remember: Remember | None) -> bool:
    edited = (given.answer or {}).get("arguments")
    with connection.cursor() as cursor:
        cursor.execute(
            _DECIDE,
            {
                "status": given.status,
                "answer": _json(given.answer),
                "edited": _json(edited),
                "instructions": given.instructions,
                "by": by.pk,
                "via": given.via,
                "request_id": request.pk,
            },
        )
        if cursor.fetchone() is None:
            return False
        request.refresh_from_db()
        details = _details(request, remember, by=by) | ({"key": given.key} if given.key else {})
        _note(request, Happening(given.status), given, by=by, details=details)
        record(
            AuditKind.DECISION_MADE,
            actor=actor_of(by),
            target=Target("request", str(request.pk)),
            details={
                "decision": given.status.value,
                "via": given.via.value,
                "kind": request.kind,
                "risk": request.risk,
                "tools": list(request.tool_names),
                "execution_id": str(request.execution_id),
                "edited": request.edited_arguments is not None,
            },
        )
        go_on(cursor, request.execution_id)
    return True


def _details(request: Request, remember: Remember | None, *, by: User) -> dict[str, Any]:
    """What the history says besides the words: what was chosen, edited, and made a rule."""
    answer = request.answer or {}
    found = {name: answer[name] for name in ("choice", "text", "arguments_hash") if name in answer}
    if "plan" in answer:
        found["tasks"] = len(answer["plan"]["tasks"])
    call = calls.only_call(request.question)
    if request.edited_arguments is not None and call is not None:
        found["changes"] = calls.changes(call["arguments"], request.edited_arguments)
    if remember is not None:
        # Other requests that the rule would cover stay open: each was asked, and is decided by a person.
        effect = rules.EFFECTS[RequestStatus(request.status)]
        found["rule_id"] = str(rules.remember(request, by=by, given=remember, effect=effect).pk)
    return found


def _snooze(user: User, request: Request, response: Response, *, via: Via) -> None:
    """Takes the request out of the badges until then, and has people reminded of it then. Its end stays."""
    bare = Response(
        SNOOZED,
        instructions=response.instructions,
        arguments_hash=response.arguments_hash,
        snooze_until=response.snooze_until,
    )
    if response != bare:
        raise Refused("invalid", _("A request that is put off takes a time and a note, and nothing else."))
    with transaction.atomic():
        request = _locked(request, user)
        until = _put_off(request, response.snooze_until)
        if until is not None:
            given = _Given(RequestStatus.PENDING, None, response.instructions, via)
            _note(request, Happening.SNOOZED, given, by=user, details={"until": until.isoformat()})
            return
    end_overdue(only=request.pk)
    request.refresh_from_db()
    if request.status != RequestStatus.PENDING:
        raise _decided_already(user, request.pk)
    raise Refused.at("snooze_until", _("Choose a time that is still to come, and before the request ends."))


def _put_off(request: Request, until: datetime | None) -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute(_SNOOZE, {"until": until, "snooze_s": SNOOZE_S, "request_id": request.pk})
        row = cursor.fetchone()
    return None if row is None else row[0]


def _note(request: Request, happening: Happening, given: _Given, *, by: User, details: dict[str, Any]) -> None:
    Decision.objects.create(
        request=request,
        happening=happening,
        actor=by,
        actor_name=by.email,
        via=given.via,
        note=given.instructions,
        details=details,
    )


def _now(user: User, request_id: UUID) -> Request:
    """As this person sees it now; as it stands, for who lost the right to see it a moment after they decided."""
    seen = Request.objects.read_by(user).filter(request_id=request_id).first()
    return seen or Request.objects.select_related("decided_by").get(request_id=request_id)


def _not_theirs() -> NotAllowed:
    return NotAllowed("not_yours_to_decide", _("You can see this request, but it is not yours to decide."))


def _decided_already(user: User, request_id: UUID) -> Conflict:
    request = _now(user, request_id)
    message = _("This request is {status} already. Nothing was changed.").format(status=said(request.status))
    return Conflict("already_decided", message, request=request_shape(request))


def _changed(user: User, request_id: UUID) -> Conflict:
    message = _("What this request asks about is not what you were shown. Nothing was changed; look at it again.")
    return Conflict("arguments_changed", message, request=request_shape(_now(user, request_id)))


_DECIDE = """
UPDATE hitl_request
SET status = %(status)s, answer = %(answer)s::json, edited_arguments = %(edited)s::json,
    user_instructions = %(instructions)s, decided_by_id = %(by)s, decided_via = %(via)s,
    responded_at = clock_timestamp()
WHERE request_id = %(request_id)s AND status = 'pending' AND (expires_at IS NULL OR expires_at > clock_timestamp())
RETURNING request_id
"""

# Without a time: an hour, or half of what is left of a request that ends sooner.
_SNOOZE = """
WITH put_off AS (
    SELECT request_id, coalesce(%(until)s::timestamptz, least(
        clock_timestamp() + make_interval(secs => %(snooze_s)s),
        clock_timestamp() + (expires_at - clock_timestamp()) / 2)) AS until
    FROM hitl_request WHERE request_id = %(request_id)s
)
UPDATE hitl_request r SET snoozed_until = p.until, remind_at = p.until, reminded_at = NULL
FROM put_off p
WHERE r.request_id = p.request_id AND r.status = 'pending' AND p.until > clock_timestamp()
  AND (r.expires_at IS NULL OR p.until < r.expires_at)
RETURNING r.snoozed_until
"""


def _json(value: dict[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value)
