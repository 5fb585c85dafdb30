"""A message of another program's agent as a question here, or as the answer to one of ours; and its tasks, which are
runs. The verbs are those of the API; what may be seen is what the token's person may see. Imports a2a: open it late.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from django.db.models import Q, QuerySet, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, RowNumber

from agents import actions as runs
from agents.engine.states import TERMINAL_STATUSES, ExecutionStatus
from agents.guardrails.questions import REFUSED
from agents.models import Event, Execution
from agents.tools.taint import ASKED_BY_AN_AGENT
from conversations import actions
from conversations.a2a.requests import MessageRequest
from conversations.a2a.responses import InState
from conversations.api.query import refuse_another
from conversations.models import Message, Role
from conversations.options import OnApproval, approval_rule, chosen
from conversations.owned import Said
from hitl import actions as decisions
from hitl.answers import Response, options_of
from hitl.kinds import RequestKind, RequestStatus, Via
from hitl.models import Decision, Request
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotThere, Refused, TooMuch

# What a person would be asked by mouth. Everything else (a yes, a plan, a budget) is given where it is shown whole.
ANSWERED_BY_WORDS: Final = (RequestKind.INPUT, RequestKind.DECISION)
FILE_EVENTS: Final = ("workspace_update",)
MOST_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class Page:
    tasks: Sequence[Execution]
    next_token: str
    total: int


def said(user: User, wish: MessageRequest) -> Execution:
    """The run that this message begins, or goes on with. The same message again finds the same. Raises A2AError, and
    TooMuch."""
    try:
        return _answered(user, wish) if wish.task_id else _begun(user, wish)
    except TooMuch:
        raise
    except Refused as refused:
        raise InvalidParamsError(refused.message, data={"code": refused.code}) from None


def own_run(user: User, task_id: str) -> Execution:
    """Raises TaskNotFoundError."""
    id_ = _uuid(task_id)
    found = Execution.objects.of(user).asked().filter(id=id_).first() if id_ else None
    if found is None or found.conversation_id is None:
        raise TaskNotFoundError(f"There is no task '{task_id[:80]}' that you may see.")
    return found


def cancel(user: User, task_id: str) -> Execution:
    """Asks for it to stop. Raises A2AError."""
    execution = own_run(user, task_id)
    if execution.status in TERMINAL_STATUSES:
        raise TaskNotCancelableError(f"This task is {execution.status} already.")
    return runs.cancel(execution.id, by=user)


def page_of(
    user: User, *, context_id: str, state: InState | None, since: datetime | None, after: str, size: int
) -> Page:
    """Newest first. `since`: when they came to be as they are, at the earliest. `after`: the token of the page
    before."""
    rows: QuerySet[Execution] = Execution.objects.of(user).asked().exclude(conversation_id=None)
    if context_id:
        rows = rows.filter(conversation_id=_uuid(context_id))
    if state is not None:
        rows = rows.filter(status__in=state.statuses)
        rows = rows.filter(error_code=REFUSED) if state.is_refused else rows.exclude(error_code=REFUSED)
    if since is not None:
        rows = rows.alias(at=Coalesce("ended_at", "started_at", "created_at")).filter(at__gte=since)
    total = rows.count()
    if after:
        last = own_run(user, after)
        rows = rows.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, id__lt=last.id))
    found = list(rows.order_by("-created_at", "-id")[: size + 1])
    return Page(found[:size], str(found[size - 1].id) if len(found) > size else "", total)


def waiting_for(user: User, executions: Iterable[Execution]) -> dict[UUID, list[Request]]:
    """What each of these runs asks people, as far as this person may see it. One query."""
    found: dict[UUID, list[Request]] = {one.id: [] for one in executions}
    if found:
        for request in (
            Request.objects.read_by(user).pending().filter(execution_id__in=list(found)).order_by("created_at")
        ):
            found[request.execution_id].append(request)
    return found


def questions_of(executions: Iterable[Execution]) -> dict[UUID, Message]:
    """The message that each run answers. One query."""
    ids = [one.id for one in executions]
    replies = Message.objects.select_related("parent").filter(execution__in=ids, parent__role=Role.USER)
    return {reply.execution_id: reply.parent for reply in replies if reply.execution_id and reply.parent}


def files_of(executions: Iterable[Execution]) -> dict[UUID, list[str]]:
    """What the log of each says of files of its conversation, oldest first, as JSON texts. One query."""
    found: dict[UUID, list[str]] = {one.id: [] for one in executions}
    if found:
        rows = Event.objects.filter(execution_id__in=list(found), type__in=FILE_EVENTS)
        newest = rows.annotate(place=Window(RowNumber(), partition_by="execution", order_by="-seq"))
        for id_, body in newest.filter(place__lte=MOST_FILES).order_by("seq").values_list("execution_id", "body"):
            found[id_].append(body)
    return found


def is_answered_by_words(request: Request) -> bool:
    """Not a question about a call: what becomes of that is decided by who was shown it."""
    asked = request.question if isinstance(request.question, dict) else {}
    return request.kind in ANSWERED_BY_WORDS and not asked.get("tool_calls")


def _begun(user: User, wish: MessageRequest) -> Execution:
    given = {"document_ids": wish.document_ids} if wish.document_ids else {}
    options = chosen(given) | approval_rule(OnApproval.WAIT, is_watched=False)
    question = actions.Question(
        wish.text, mode=wish.mode, options=options, brought=ASKED_BY_AN_AGENT, client_id=wish.key
    )
    begins = not wish.context_id
    done = actions.say_in_named(user, wish.key, question) if begins else _said_in(user, wish.context_id, question)
    refuse_another(done, question)
    return done.execution


def _said_in(user: User, context: str, question: actions.Question) -> Said:
    context_id = _uuid(context)
    try:
        if context_id is None:
            raise NotThere
        return actions.say(user, context_id, question)
    except NotThere:
        words = f"There is no context '{context[:80]}' that you may see. Leave it out, and one begins."
        raise InvalidParamsError(words, data={"field": "message.contextId"}) from None


def _answered(user: User, wish: MessageRequest) -> Execution:
    """Only a question is answered by a message: a yes to a call is never given by words."""
    execution = own_run(user, wish.task_id)
    if wish.context_id and _uuid(wish.context_id) != execution.conversation_id:
        raise InvalidParamsError("This task is not of that context.", data={"field": "message.contextId"})
    if _was_answered_with(user, execution, wish.key):
        return execution
    if execution.status in TERMINAL_STATUSES:
        raise UnsupportedOperationError(
            f"This task is {execution.status}. Leave taskId out: the message is then a new task of its context."
        )
    request = _asked(waiting_for(user, [execution])[execution.id], wish.request_id, execution)
    options = options_of(request.question)
    choice = next((one for one in options if one.strip() == wish.text.strip()), None)
    if options and request.kind == RequestKind.DECISION and choice is None:
        raise InvalidParamsError(f"Answer with one of: {', '.join(options)}.", data={"options": ", ".join(options)})
    response = Response(
        RequestStatus.ANSWERED,
        choice=choice,
        text=wish.text if choice is None else None,
        key=wish.key,
    )
    decisions.respond(user, request.request_id, response, via=Via.AGENT)
    return Execution.objects.of(user).get(id=execution.id)


def _was_answered_with(user: User, execution: Execution, key: str) -> bool:
    decided = Decision.objects.filter(request__execution_id=execution.id, actor=user)
    return decided.alias(key=KeyTextTransform("key", "details")).filter(key=key).exists()


def _asked(waiting: Sequence[Request], request_id: str, execution: Execution) -> Request:
    """The one question that the message answers."""
    open_ = [one for one in waiting if is_answered_by_words(one)]
    if request_id:
        open_ = [one for one in open_ if str(one.request_id) == request_id]
    if len(open_) == 1:
        return open_[0]
    if open_:
        ids = ", ".join(str(one.request_id) for one in open_)
        raise InvalidParamsError(f"Several questions are open. Name one in metadata.request_id: {ids}.")
    raise _nothing_to_answer(execution)


def _nothing_to_answer(execution: Execution) -> A2AError:
    if execution.status != ExecutionStatus.AWAITING_USER:
        return UnsupportedOperationError("This task is worked on and asks nothing. Wait for it, or cancel it.")
    return UnsupportedOperationError(
        "This task waits for a person's decision, which no message can give: they decide on their page /inbox/, or by "
        "POST /api/v1/hitl/respond with a token of the scope 'approve'."
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
