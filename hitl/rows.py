"""How requests stand in a list for people: what is asked, the gist of it, who asks for whom, how it ended. Pure: a row
in, words out; no query of its own. Everything that comes from models is plain text here and escaped by the template.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from hitl.calls import calls_of
from hitl.kinds import ApproverKind, RequestKind, RequestStatus
from hitl.models import Decision, Request
from hyperagent.accounts.models import User
from hyperagent.lib.stored_sentences import in_our_words
from hyperagent.lib.text import revealed
from hyperagent.lib.tool_labels import quoted_tool

GIST_CHARS: Final = 160

KINDS: Final[Mapping[str, str]] = {
    RequestKind.APPROVAL: gettext_noop("Approval"),
    RequestKind.DECISION: gettext_noop("Decision"),
    RequestKind.INPUT: gettext_noop("Question"),
    RequestKind.PLAN: gettext_noop("Plan"),
    RequestKind.BUDGET: gettext_noop("Budget"),
}
RISKS: Final[Mapping[str, str]] = {
    "high": gettext_noop("High risk"),
    "medium": gettext_noop("Medium risk"),
    "low": gettext_noop("Low risk"),
}
# A request that nobody decided in time is nobody's no.
ENDED: Final[Mapping[str, str]] = {
    RequestStatus.APPROVED: gettext_noop("Approved"),
    RequestStatus.DENIED: gettext_noop("Denied"),
    RequestStatus.ANSWERED: gettext_noop("Answered"),
    RequestStatus.TIMED_OUT: gettext_noop("Nobody decided in time"),
    RequestStatus.EXPIRED: gettext_noop("The run ended before anybody decided"),
    RequestStatus.CANCELLED: gettext_noop("Withdrawn"),
}
_HAPPENED: Final[Mapping[str, str]] = {
    **{str(status): words for status, words in ENDED.items()},
    "snoozed": gettext_noop("Put off"),
    "reminded": gettext_noop("Reminded"),
    "refused": gettext_noop("Approval refused, for it was no longer what had been asked"),
}
_DOORS: Final[Mapping[str, str]] = {
    "admin": gettext_noop("in the administration"),
    "agent": gettext_noop("by another program's agent"),
    "api": gettext_noop("by the API"),
    "command": gettext_noop("in a terminal"),
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
    reminded: bool
    """It still waits though people were reminded of it."""


def row_of(request: Request, *, reader: User, now: datetime) -> Row:
    """Needs the request's user loaded with it."""
    call = first_call(request.question)
    snoozed = request.snoozed_until is not None and request.snoozed_until > now
    return Row(
        request=request,
        title=title_of(request),
        gist=revealed(gist_of(call) or request.task_description.partition("\n")[0][:GIST_CHARS]),
        kind=_(KINDS.get(request.kind, request.kind)),
        risk_words=_(RISKS.get(request.risk, "")),
        irreversible=bool(call.get("irreversible")),
        owner=owner_of(request, reader=reader),
        waits_for=approvers_of(request),
        ended=_("Approved with changes") if _is_edited(request) else _(ENDED.get(request.status, "")),
        decided_by=_decided_by(request, reader=reader),
        snoozed=snoozed,
        reminded=request.was_reminded and request.status == RequestStatus.PENDING and not snoozed,
    )


def title_of(request: Request) -> str:
    asked = request.question if isinstance(request.question, Mapping) else {"question": request.question}
    words = str(asked.get("question") or asked.get("text") or "").strip()
    if words:
        return revealed(in_our_words(words))
    tools = ", ".join(quoted_tool(name) for name in request.tool_names)
    return _("Allow the use of {tools}?").format(tools=tools) if tools else _("May the agent go on?")


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
    return (request.user.display_name or request.user.email) if request.user else _("somebody who is gone")


def approvers_of(request: Request) -> str:
    """Whom it waits for, as the rest of a sentence."""
    name = request.approver_name
    words = {
        ApproverKind.ROLE: _("somebody with the role {name}").format(name=name),
        ApproverKind.GROUP: _("the group {name}").format(name=name),
        ApproverKind.NAMED: name or _("people whom an administrator named"),
    }
    return words.get(ApproverKind(request.approver_kind), _("whoever's run it is"))


def _is_edited(request: Request) -> bool:
    return request.status == RequestStatus.APPROVED and request.edited_arguments is not None


def _decided_by(request: Request, *, reader: User) -> str:
    if request.decided_by is None:
        return ""
    return (
        pgettext("by whom", "you")
        if request.decided_by_id == reader.pk
        else request.decided_by.display_name or request.decided_by.email
    )


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
        words=_(_HAPPENED.get(decision.happening, decision.happening)),
        who=pgettext("by whom", "you") if decision.actor_id == reader.pk else decision.actor_name,
        door=_(_DOORS.get(decision.via, decision.via)),
        note=decision.note,
        at=decision.at,
    )
