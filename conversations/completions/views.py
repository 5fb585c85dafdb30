"""The door for programs that speak to OpenAI: a question, and the answer in the words that they know.

Nobody can be asked meanwhile: what needs a person's yes is left out, and the answer says so.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any
from uuid import UUID

import orjson
from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.engine.states import ExecutionStatus
from agents.log import shapes
from agents.log.following import follow, settled
from agents.log.reading import LoggedEvent
from agents.models import Execution
from agents.modes import available_modes
from conversations import actions
from conversations.api import query
from conversations.completions import requests, responses, serializers
from conversations.completions.requests import Asked, NotAsked
from conversations.options import OnApproval, approval_rule, chosen
from conversations.owned import Said
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib import outage
from hyperagent.lib.api import exception_handler
from hyperagent.lib.async_api import KEEP_ALIVE, AsyncAnswerView, Later, event_stream
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.threads import in_thread

DONE = b"data: [DONE]\n\n"
# What our own verbs call it, in the words of the request.
_ERRORS = dict.fromkeys((400, 401, 403, 404, 413, 415, 429, 503), serializers.CompletionErrorSerializer)
_RUN_ERRORS = dict.fromkeys((409, 422, 500, 502), serializers.CompletionErrorSerializer)
_PARAMS = {
    "text": "messages",
    "mode": "model",
    "client_id": "Idempotency-Key",
    "document_ids": "metadata.document_ids",
}


class _InTheirWords(APIView):
    """Errors are told in OpenAI's shape."""

    permission_classes = (HasScope(Scope.RUN),)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return _told_error


class Models(_InTheirWords):
    permission_classes = (HasScope(Scope.RUN, Scope.READ),)

    @extend_schema(operation_id="models_list", responses={200: serializers.ServedModelsSerializer, **_ERRORS})
    def get(self, request: Request) -> Response:
        """What can be asked here, as OpenAI lists its models: `hyperagent`, and one for each mode."""
        return Response({"object": "list", "data": [_model(mode) for mode in (None, *available_modes())]})


class OneModel(_InTheirWords):
    permission_classes = (HasScope(Scope.RUN, Scope.READ),)

    @extend_schema(operation_id="models_retrieve", responses={200: serializers.ServedModelSerializer, **_ERRORS})
    def get(self, request: Request, name: str) -> Response:
        """One of those that can be asked, by its name."""
        mode = requests.mode_of(name)
        if mode is not None and mode not in available_modes():
            raise requests.no_such_model(name)
        return Response(_model(mode))


class NotHere(_InTheirWords):
    """Of OpenAI's routes only a few are there."""

    schema = None

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        words = f"There is no {request.path} here. There are /v1/models and /v1/chat/completions; see /api/docs/."
        return JsonResponse(responses.error(404, words, code="unknown_url"), status=404)


class ChatCompletions(AsyncAnswerView, _InTheirWords):
    @extend_schema(
        operation_id="chat_completions_create",
        request=serializers.CompletionRequestSerializer,
        parameters=[query.IDEMPOTENCY],
        responses={
            (200, "application/json"): serializers.CompletionSerializer,
            (200, "text/event-stream"): serializers.STREAM,
            **_ERRORS,
            **_RUN_ERRORS,
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        """A question as OpenAI's chat completions have it. Nobody is asked: what needs a yes is left out, and told."""
        question = requests.read(request.data)
        assert isinstance(request.user, User)
        said = _said(request.user, question, query.key_of(request))
        execution, conversation_id = said.execution, said.conversation.id
        named: dict[str, Any] = {
            "completion_id": f"chatcmpl-{execution.id.hex}",
            "model_name": question.model,
            "created": int(execution.created_at.timestamp()),
            "warnings": question.warnings,
        }

        async def streamed() -> HttpResponseBase:
            stream = responses.Stream(tells_usage=question.tells_usage, **named)
            farewell = _sent(responses.error(503, outage.MESSAGE, code=outage.CODE)) + DONE
            answer = event_stream(_chunks(execution, stream), of=f"execution {execution.id}", farewell=farewell)
            return _with_ids(answer, execution.id, conversation_id)

        async def whole() -> HttpResponseBase:
            answer = await in_thread(_answer_of)(await settled(execution), named)
            return _with_ids(answer, execution.id, conversation_id)

        return Later(streamed if question.stream else whole)


def _said(user: User, asked: Asked, key: str | None) -> Said:
    given = {"document_ids": asked.document_ids} if asked.document_ids else {}
    options = chosen(given) | approval_rule(OnApproval.SKIP, is_watched=False)
    question = actions.Question(asked.question, mode=asked.mode, options=options, told=asked.told, client_id=key)
    said = _said_where(user, asked, question)
    query.refuse_another(said, question)
    return said


def _said_where(user: User, asked: Asked, question: actions.Question) -> Said:
    key = question.client_id
    if key is not None:
        query.refuse_another_place(user, key, *_places(user, asked, key))
    if asked.conversation_id is not None:
        return actions.say(user, asked.conversation_id, question)
    if asked.thread:
        try:
            return actions.say_in_named(user, f"user {asked.thread}", question)
        except NotThere:
            pass  # Its person deleted that conversation. The program tells all of it anyway.
    if key is not None:
        return actions.say_in_named(user, key, question)
    return actions.say_in_new(user, question)


def _places(user: User, asked: Asked, key: str) -> list[UUID]:
    """Where the question may have been said before under this key."""
    if asked.conversation_id is not None:
        return [asked.conversation_id]
    names = [f"user {asked.thread}", key] if asked.thread else [key]
    return [actions.id_of_named(user, name) for name in names]


def _answer_of(execution: Execution, named: dict[str, Any]) -> JsonResponse:
    if execution.status == ExecutionStatus.FAILED:
        code = execution.error_code
        status = query.STATUS_OF_ERROR.get(code, 502)
        message = execution.error_message or "The run failed. Try again."
        error = responses.error(status, message, code=code or None)
        return JsonResponse(error, status=status, headers=query.retry_headers(code))
    return JsonResponse(responses.completion(shapes.finished(execution, ()), **named))


async def _chunks(execution: Execution, stream: responses.Stream) -> AsyncGenerator[bytes, None]:
    """The run goes on if the program leaves."""
    is_told = False
    yield _sent(stream.begins())
    async with aclosing(follow(execution, 0)) as events:
        async for event in events:
            chunks = stream.of(await _told(event, execution)) if event is not None else ()
            yield KEEP_ALIVE if event is None else b"".join(map(_sent, chunks))
            is_told = event is not None and event.is_last
    if not is_told and (end := await in_thread(query.end_of)(execution)) is not None:
        yield b"".join(map(_sent, stream.of(end)))
    yield DONE


async def _told(event: LoggedEvent, execution: Execution) -> dict[str, Any]:
    """The last event comes with what the run says of itself, which was stored with it."""
    said: dict[str, Any] = orjson.loads(event.body)
    return {**said, **await in_thread(_finished)(execution.id)} if event.type == "complete" else said


def _finished(execution_id: UUID) -> dict[str, Any]:
    return shapes.finished(Execution.objects.get(id=execution_id), ())


def _sent(chunk: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _with_ids(response: HttpResponseBase, execution_id: UUID, conversation_id: UUID) -> HttpResponseBase:
    response["X-Execution-Id"] = str(execution_id)
    response["X-Conversation-Id"] = str(conversation_id)
    return response


def _model(mode: str | None) -> dict[str, Any]:
    """When a model was made is when this process began: they come with it."""
    return responses.model(mode, created=_SINCE)


_SINCE = int(time.time())


def _told_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every error in OpenAI's shape. None for what nobody foresaw: the server's error page answers, with an id."""
    if isinstance(error, NotAsked):
        status = 404 if error.code == "model_not_found" else 400
        return Response(responses.error(status, error.message, code=error.code, param=error.param), status=status)
    answer = exception_handler(error, context)
    if answer is None:
        return None
    shown = answer.data["error"]
    field = next(iter(shown.get("fields", {})), None)
    code = "invalid_api_key" if answer.status_code == 401 else shown["code"]
    param = _PARAMS.get(field, field) if field else None
    answer.data = responses.error(answer.status_code, shown["message"], code=code, param=param)
    return answer
