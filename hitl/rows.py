"""How requests stand in a list for people: what is asked, the gist of it, who asks for whom, how it ended. Pure: a row
in, words out; no query of its own. Everything that comes from models is plain text here and escaped by the template.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hitl.calls import calls_of
from hitl.kinds import ApproverKind, RequestKind, RequestStatus
from hitl.models import Decision, Request
from hyperagent.accounts.models import User

GIST_CHARS: Final = 160

KINDS: Final[Mapping[str, str]] = {
    RequestKind.APPROVAL: "Approval",
    RequestKind.DECISION: "Decision",
    RequestKind.INPUT: "Question",
    RequestKind.PLAN: "Plan",
    RequestKind.BUDGET: "Budget",
}
RISKS: Final[Mapping[str, str]] = {"high": "High risk", "medium": "Medium risk", "low": "Low risk"}
# A request that nobody decided in time is nobody's no.
ENDED: Final[Mapping[str, str]] = {
    RequestStatus.APPROVED: "Approved",
    RequestStatus.DENIED: "Denied",
    RequestStatus.ANSWERED: "Answered",
    RequestStatus.TIMED_OUT: "Nobody decided in time",
    RequestStatus.EXPIRED: "The run ended before anybody decided",
    RequestStatus.CANCELLED: "Withdrawn",
}
_HAPPENED: Final[Mapping[str, str]] = {
    **{str(status): words for status, words in ENDED.items()},
    "snoozed": "Put off",
    "reminded": "Reminded",
}
_DOORS: Final[Mapping[str, str]] = {
    "admin": "in the administration",
    "api": "by the API",
    "command": "in a terminal",
    "clock": "",
    "run": "",
    "page": "",
    "socket": "",
}


@dataclass(frozen=True, slots=True)
class Row:
    """`owner`: whose run asks, empty if it is the reader's own; `risk_words` is empty where nothing is risked."""

    request: Request
    title: str
    gist: str
    kind: str
    risk_words: str
    irreversible: bool
    owner: str
    waits_for: str
    ended: str
    decided_by: str
    snoozed: bool


def row_of(request: Request, *, reader: User, now: datetime) -> Row:
    """Needs the request's user loaded with it."""
    call = first_call(request.question)
    return Row(
        request=request,
        title=title_of(request),
        gist=gist_of(call) or request.task_description.partition("\n")[0][:GIST_CHARS],
        kind=KINDS.get(request.kind, request.kind),
        risk_words=RISKS.get(request.risk, ""),
        irreversible=bool(call.get("irreversible")),
        owner=owner_of(request, reader=reader),
        waits_for=approvers_of(request),
        ended="Approved with changes" if _is_edited(request) else ENDED.get(request.status, ""),
        decided_by=_decided_by(request, reader=reader),
        snoozed=request.snoozed_until is not None and request.snoozed_until > now,
    )


def title_of(request: Request) -> str:
    asked = request.question if isinstance(request.question, Mapping) else {"question": request.question}
    words = str(asked.get("question") or asked.get("text") or "").strip()
    if words:
        return words
    tools = ", ".join(name.replace("_", " ") for name in request.tool_names)
    return f"Allow the use of {tools}?" if tools else "May the agent go on?"


def first_call(question: Any) -> Mapping[str, Any]:
    return next(iter(calls_of(question)), {})


def gist_of(call: Mapping[str, Any]) -> str:
    """What tells one call from the next, in one line: whom a mail goes to and about what, else the first text."""
    preview = call.get("preview")
    preview = preview if isinstance(preview, Mapping) else {}
    if preview.get("kind") == "mail":
        to = preview.get("to")
        names = ", ".join(str(name) for name in to) if isinstance(to, list) else str(to or "")
        return " · ".join(filter(None, (names, str(preview.get("subject") or ""))))[:GIST_CHARS]
    if preview.get("kind") == "diff":
        return str(preview.get("path") or "")[:GIST_CHARS]
    arguments = call.get("arguments")
    values = arguments.values() if isinstance(arguments, Mapping) else ()
    return next((value for value in values if isinstance(value, str) and value), "").partition("\n")[0][:GIST_CHARS]


def owner_of(request: Request, *, reader: User) -> str:
    if request.user_id == reader.pk:
        return ""
    return (request.user.display_name or request.user.email) if request.user else "somebody who is gone"


def approvers_of(request: Request) -> str:
    """Whom it waits for, as the rest of a sentence."""
    name = request.approver_name
    words = {
        ApproverKind.ROLE: f"somebody with the role {name}",
        ApproverKind.GROUP: f"the group {name}",
        ApproverKind.NAMED: name or "people whom an administrator named",
    }
    return words.get(ApproverKind(request.approver_kind), "whoever's run it is")


def _is_edited(request: Request) -> bool:
    return request.status == RequestStatus.APPROVED and request.edited_arguments is not None


def _decided_by(request: Request, *, reader: User) -> str:
    if request.decided_by is None:
        return ""
    return "you" if request.decided_by_id == reader.pk else request.decided_by.display_name or request.decided_by.email


@dataclass(frozen=True, slots=True)
class Past:
    """One line of a request's history."""

    words: str
    who: str
    door: str
    note: str
    at: datetime


def past_of(decision: Decision, *, reader: User) -> Past:
    return Past(
        words=_HAPPENED.get(decision.happening, decision.happening),
        who="you" if decision.actor_id == reader.pk else decision.actor_name,
        door=_DOORS.get(decision.via, decision.via),
        note=decision.note,
        at=decision.at,
    )
