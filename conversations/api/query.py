"""`POST /query` and `/query/stream`: one question by a program, whose answer is waited for or streamed."""

from typing import Any

from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents import shapes
from agents.api.serializers import ErrorSerializer, FinishedSerializer
from agents.api.streaming import server_sent
from agents.engine.states import ExecutionStatus
from agents.following import settled
from agents.models import Execution
from conversations import actions
from conversations.api.serializers import QuerySerializer, WaitingSerializer
from conversations.history import window
from hitl.models import Request as HumanRequest
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.async_api import AsyncAnswerView, Later, event_stream
from hyperagent.lib.refusals import Conflict, error_object
from hyperagent.lib.threads import in_thread

IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key again answers with the same execution."
)
# Statuses by the run's error code. Others are 502: something that the run needs did not do its part.
STATUS_OF_ERROR = {
    "model_busy": 503,
    "model_unavailable": 503,
    "no_model_configured": 503,
    "context_too_long": 400,
    "crashed_worker": 500,
    "internal": 500,
}


class Query(AsyncAnswerView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=QuerySerializer,
        parameters=[IDEMPOTENCY],
        responses={
            200: FinishedSerializer,
            202: WaitingSerializer,
            **dict.fromkeys((400, 404, 409, 500, 502, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Asks, waits for the end of the run and answers with it. 202 if the run waits for a person."""
        execution = _asked(request)

        async def answer() -> HttpResponseBase:
            return await in_thread(_answer_of)(await settled(execution))

        return Later(answer)


class QueryStream(AsyncAnswerView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=QuerySerializer,
        parameters=[IDEMPOTENCY],
        responses={(200, "text/event-stream"): OpenApiTypes.STR, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Asks, and streams the run's events. The run goes on if the client leaves."""
        execution = _asked(request)

        async def answer() -> HttpResponseBase:
            response = event_stream(server_sent(execution, 0))
            response["X-Execution-Id"] = str(execution.id)
            return response

        return Later(answer)


def _asked(request: Request) -> Execution:
    user = request.user
    assert isinstance(user, User)
    asked = QuerySerializer(data=request.data)
    asked.is_valid(raise_exception=True)
    given = asked.validated_data
    key = request.headers.get("idempotency-key") or None
    question, mode, options = given["query"], given["mode"], asked.options()
    told = window(given["messages"]) if given["messages"] is not None else None
    if given["conversation_id"] is not None:
        said = actions.say(
            user, given["conversation_id"], question, mode=mode, client_id=key, options=options, told=told
        )
    elif key is not None:
        said = actions.say_once(user, key, question, mode=mode, options=options, told=told)
    else:
        said = actions.say_in_new(user, question, mode=mode, options=options, told=told)
    if said.repeated and said.message.text != actions.checked_question(question):
        raise Conflict(
            "key_used", "This Idempotency-Key was used for another question. Use a new key for a new question."
        )
    return said.execution


def _answer_of(execution: Execution) -> JsonResponse:
    """Two queries at most. A run that somebody stopped answers with what it had until then."""
    if execution.status == ExecutionStatus.FAILED:
        code = execution.error_code or "failed"
        message = execution.error_message or "The run failed. Try again."
        error = error_object(code, message, execution_id=str(execution.id))
        return JsonResponse({"error": error}, status=STATUS_OF_ERROR.get(code, 502))
    shown = shapes.finished(execution, execution.agents.all())
    if execution.status == ExecutionStatus.AWAITING_USER:
        asked = HumanRequest.objects.pending().filter(execution_id=execution.id)
        return JsonResponse({**shown, "requests": [_request_shape(request) for request in asked]}, status=202)
    return JsonResponse(shown)


def _request_shape(request: HumanRequest) -> dict[str, Any]:
    return {
        "request_id": str(request.request_id),
        "kind": request.kind,
        "execution_id": str(request.execution_id),
        "conversation_id": str(request.conversation_id) if request.conversation_id else None,
        "agent_id": str(request.agent_id),
        "agent_name": request.agent_name,
        "tool_names": request.tool_names,
        "task_description": request.task_description,
        "status": request.status,
        "created_at": shapes.iso(request.created_at),
        "expires_at": shapes.iso(request.expires_at),
    }
