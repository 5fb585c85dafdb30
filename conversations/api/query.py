"""`POST /query`, `/query/stream` and `GET /agent/stream`: one question by a program, whose answer is waited for or
streamed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from agents.api.serializers import AfterSerializer, FinishedSerializer
from agents.api.streaming import server_sent
from agents.engine.states import ExecutionStatus
from agents.log import older_shapes, reading, shapes
from agents.log.following import settled
from agents.models import Execution
from agents.modes import resolve_mode
from conversations import actions
from conversations.api.serializers import PromptSerializer, QuerySerializer, WaitingSerializer
from conversations.history import window
from conversations.options import ChosenOptions, approval_rule, chosen
from conversations.owned import Said, is_used_elsewhere
from hitl.models import Request as HumanRequest
from hitl.remembering import preapproved_from
from hitl.shapes import request_shape
from hyperagent.accounts.authentication import HasScope, TokenAuthentication
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of
from hyperagent.lib.api import ErrorSerializer, own_or_404
from hyperagent.lib.async_api import AsyncAnswerView, Later, ServerSentSerializer, event_stream, place_asked
from hyperagent.lib.client_ids import checked_client_id
from hyperagent.lib.refusals import Conflict, NotAllowed, Refused, error_object
from hyperagent.lib.text import clean_text
from hyperagent.lib.threads import in_thread

IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key again answers with the same execution; 409 for another question, mode or conversation.",
)
LAST_EVENT = OpenApiParameter(
    "Last-Event-ID",
    int,
    OpenApiParameter.HEADER,
    description="With the Idempotency-Key of a question that was asked: the last number that you have of its run.",
)
# Statuses by the run's error code. Others are 502: something that the run needs did not do its part.
STATUS_OF_ERROR = {
    "model_busy": 503,
    "model_unavailable": 503,
    "no_model_configured": 503,
    "context_too_long": 400,
    "guardrail_input": 422,
    # Asked again it would fail again: clients of OpenAI do that by themselves where the fault is not theirs.
    "budget": 422,
    "crashed_worker": 500,
    "not_stored": 500,
    "internal": 500,
}
# What passes by itself. For how long a provider asked to be left alone is not kept.
PASSING = frozenset({"model_busy", "model_unavailable"})
RETRY_AFTER_S = 10


class Query(AsyncAnswerView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=QuerySerializer,
        parameters=[IDEMPOTENCY],
        responses={
            200: FinishedSerializer,
            202: WaitingSerializer,
            **dict.fromkeys((400, 404, 409, 422, 500, 502, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Asks, waits for the end of the run and answers with it. 202 if the run waits for a person.

        Nobody can be asked meanwhile: what needs an approval is skipped and said so, unless `on_approval` is `wait`.
        """
        execution = _asked(request, is_watched=False).execution

        user = request.user
        assert isinstance(user, User)

        async def answer() -> HttpResponseBase:
            return await in_thread(_answer_of)(await settled(execution), user)

        return Later(answer)


class QueryStream(AsyncAnswerView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=QuerySerializer,
        parameters=[IDEMPOTENCY, LAST_EVENT],
        responses={
            (200, "text/event-stream"): ServerSentSerializer,
            **dict.fromkeys((400, 404, 409), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Asks, and streams the run's events. The run goes on if the client leaves: the same question with the same
        `Idempotency-Key` streams it again, and with `Last-Event-ID` from there on.
        """
        after = _last_had(request)
        said = _asked(request, is_watched=True)
        return _streamed(said.execution, after if said.repeated else 0)


class OlderStream(AsyncAnswerView):
    """`GET /agent/stream` of the older agent-tree programs.

    It starts a run, and a browser sends its cookie with every GET that a foreign page makes: only a token opens it.
    Those programs gave their agents ids and parents by themselves; here an id is given once, so they are refused.

    Clients of event streams ask the same anew when a stream has ended, and would begin run after run: the ids of its
    chunks say which run they had. No HEAD: it would begin one, too.
    """

    http_method_names = ("get", "options")
    authentication_classes = (TokenAuthentication,)
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        parameters=[
            OpenApiParameter("prompt", str, description="The question; or else `messages`."),
            OpenApiParameter(
                "messages",
                str,
                description='JSON, such as `[{"role": "user", "content": "Hello"}]`. The last one is the question.',
            ),
            OpenApiParameter(
                "Last-Event-ID",
                str,
                OpenApiParameter.HEADER,
                description="Goes on with the run of that chunk, and asks nothing. 204 where nothing comes any more.",
            ),
        ],
        responses={
            (200, "text/event-stream"): ServerSentSerializer,
            204: None,
            **dict.fromkeys((400, 404, 410), ErrorSerializer),
        },
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Asks, and streams the run as chunks: text-delta, agent-state, tool-call, tool-result. Needs a token."""
        assert isinstance(request.user, User)
        if last := request.headers.get("last-event-id"):
            return _gone_on(request, last)
        asked = PromptSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        told = window(asked.history) if asked.history else None
        options = chosen({}) | approval_rule(None, is_watched=True)
        with faults_named("prompt"):
            said = actions.say_in_new(
                request.user, actions.Question(clean_text(asked.question), options=options, told=told)
            )
        return _told_older(said.execution, 0)


def _told_older(execution: Execution, after: int) -> Later:
    return _streamed(execution, after, told_as=older_shapes.chunk, run=f"{execution.id}:")


def _gone_on(request: Request, last: str) -> HttpResponseBase:
    """The older stream from behind the chunk of this id. Raises ValidationError, NotThere, and Gone."""
    user = request.user
    assert isinstance(user, User)
    run, _colon, seq = last.rpartition(":")
    try:
        run_id, after = UUID(run), int(seq)
    except ValueError:
        raise ValidationError({"Last-Event-ID": ["This is no id of a chunk of this stream."]}) from None
    own = Execution.objects.of(user).asked().defer("input", "result")
    execution = reading.with_log(own_or_404(own, id=run_id))
    progress = reading.progress_of(execution.id)
    if progress is not None and progress.is_over and after >= progress.last_seq:
        # By which a client of event streams knows that it need not come back.
        return HttpResponse(status=204)
    return _told_older(execution, max(0, after))


def _streamed(execution: Execution, after: int, **how: Any) -> Later:
    async def answer() -> HttpResponseBase:
        response = event_stream(server_sent(execution, after, **how), of=f"execution {execution.id}")
        response["X-Execution-Id"] = str(execution.id)
        return response

    return Later(answer)


def _last_had(request: Request) -> int:
    """Of a client that comes back. Without the key of its question nobody knows which run it had, and it would be
    asked again: raises Refused."""
    if not request.headers.get("last-event-id"):
        return 0
    if key_of(request) is None:
        words = _("Last-Event-ID needs the Idempotency-Key of the question. Or read the events of the run by its id.")
        raise Refused.at("Idempotency-Key", words, code="key_needed")
    last: int = place_asked(request, AfterSerializer)["after"]
    return last


@contextmanager
def faults_named(field: str) -> Iterator[None]:
    """A fault of the question's text is told under the name that this request has for it."""
    try:
        yield
    except Refused as refused:
        if "text" in refused.fields:
            refused.fields[field] = refused.fields.pop("text")
        raise


def _asked(request: Request, *, is_watched: bool) -> Said:
    user = request.user
    assert isinstance(user, User)
    asked = QuerySerializer(data=request.data)
    asked.is_valid(raise_exception=True)
    given = asked.validated_data
    options = (
        chosen(asked.options())
        | approval_rule(given["on_approval"], is_watched=is_watched)
        | _preapproved(request, user, given["preapproved"])
    )
    with faults_named("query"):
        return _said(user, request, given, options)


def _preapproved(request: Request, user: User, given: Any) -> ChosenOptions:
    """A yes beforehand is a yes: who may not approve may not give it. Raises NotAllowed, and Refused."""
    if not given:
        return {}
    if Scope.APPROVE not in _scopes(request, user):
        raise NotAllowed("scope_missing", "`preapproved` needs the scope 'approve'. Make a token that has it.")
    found = preapproved_from(given)
    return {
        "preapproved": [
            {"tool": one.tool, "conditions": [condition.as_json() for condition in one.conditions]} for one in found
        ]
    }


def _scopes(request: Request, user: User) -> frozenset[Scope]:
    return scopes_of(user, request.auth if isinstance(request.auth, ApiToken) else None)


def _said(user: User, request: Request, given: dict[str, Any], options: ChosenOptions) -> Said:
    key = key_of(request)
    told = window(given["messages"]) if given["messages"] is not None else None
    question = actions.Question(given["query"], mode=given["mode"], options=options, told=told, client_id=key)
    conversation_id, project_id, is_temporary = given["conversation_id"], given["project_id"], given["temporary"]
    if key is not None:
        refuse_another_place(user, key, conversation_id or actions.id_of_named(user, key))
    if conversation_id is not None:
        said = actions.say(user, conversation_id, question)
    elif key is not None:
        said = actions.say_in_named(user, key, question, project_id=project_id, is_temporary=is_temporary)
    else:
        said = actions.say_in_new(user, question, project_id=project_id, is_temporary=is_temporary)
    refuse_another(said, question)
    return said


def key_of(request: Request) -> str | None:
    """Raises Refused, by the header's name."""
    key = request.headers.get("idempotency-key")
    return checked_client_id(key, called="Idempotency-Key") or None


def refuse_another(said: Said, question: actions.Question) -> None:
    """Raises Conflict where the key is of another question, or of the same one in another mode."""
    if not said.repeated:
        return
    is_same_text = said.message.text == actions.checked_question(question.text)
    if not is_same_text or said.message.mode != resolve_mode(question.mode).name:
        raise _key_used()


def refuse_another_place(user: User, key: str, *conversation_ids: UUID) -> None:
    """Raises Conflict where the key was used in another conversation than these, or to begin another."""
    if is_used_elsewhere(user, key, conversation_ids):
        raise _key_used()


def _key_used() -> Conflict:
    words = "This Idempotency-Key was used for another question, mode or conversation. Use a new key for a new one."
    return Conflict("key_used", words)


def _answer_of(execution: Execution, user: User) -> JsonResponse:
    """Three queries at most. A run that somebody stopped answers with what it had until then."""
    if execution.status == ExecutionStatus.FAILED:
        code = execution.error_code or "failed"
        message = execution.error_message or "The run failed. Try again."
        error = error_object(code, message, execution_id=str(execution.id))
        return JsonResponse({"error": error}, status=STATUS_OF_ERROR.get(code, 502), headers=retry_headers(code))
    shown = shapes.finished(execution, execution.agents.all())
    if execution.status == ExecutionStatus.AWAITING_USER:
        asked = HumanRequest.objects.read_by(user).pending().filter(execution_id=execution.id)
        return JsonResponse({**shown, "requests": [request_shape(request) for request in asked]}, status=202)
    return JsonResponse(shown)


def end_of(execution: Execution) -> dict[str, Any] | None:
    """What a run's last event said, as its row has it by now: for a stream that came too late for that, or whose log is
    no longer kept. None while it goes on, and where its person is told nothing more."""
    now = Execution.objects.filter(id=execution.id, user=execution.user_id, user__is_active=True).first()
    if now is None or not now.is_over:
        return None
    if now.status == ExecutionStatus.FAILED:
        return {"type": "error", "code": now.error_code or "failed", "message": now.error_message}
    return {"type": "complete", **shapes.finished(now, ())}


def retry_headers(code: str) -> dict[str, str]:
    """When a run that failed with this code may be asked for again; nothing where something must be mended first."""
    return {"Retry-After": str(RETRY_AFTER_S)} if code in PASSING else {}
