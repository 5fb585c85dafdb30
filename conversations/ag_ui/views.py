"""`POST /api/v1/ag-ui`: one AG-UI run of a thread, as server-sent events. The thread is a conversation of its own."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import orjson
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.engine.states import ExecutionStatus
from agents.log import reading
from agents.log.following import follow, waits
from agents.models import Execution
from conversations import actions
from conversations.api.query import end_of, faults_named, refuse_another
from conversations.options import approval_rule, chosen
from hitl import actions as decisions
from hitl.api.serializers import RespondSerializer
from hitl.kinds import Via
from hitl.models import Request as HumanRequest
from hitl.shapes import request_shape
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of
from hyperagent.lib import outage
from hyperagent.lib.api import ErrorSerializer
from hyperagent.lib.async_api import KEEP_ALIVE, AsyncAnswerView, Later, event_stream
from hyperagent.lib.refusals import NotAllowed, NotThere, Refused
from hyperagent.lib.threads import in_thread

if TYPE_CHECKING:
    from conversations.ag_ui.requests import Asked
    from conversations.ag_ui.responses import Telling


class AgUi(AsyncAnswerView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        responses={(200, "text/event-stream"): OpenApiTypes.STR, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def post(self, request: Request) -> HttpResponseBase:
        """A run for a front end that speaks AG-UI 1.0: takes a RunAgentInput, streams its events.

        A run that waits for people ends with an interrupt for each request; `resume` answers them, and goes on.
        """
        from conversations.ag_ui import requests, responses  # imports ag_ui

        user = request.user
        assert isinstance(user, User)
        wanted = requests.read(request.data)
        execution, after = _resumed(request, user, wanted.answers) if wanted.answers else (_asked(user, wanted), 0)
        telling = responses.Telling(thread_id=wanted.thread_id, run_id=wanted.run_id)

        async def answer() -> HttpResponseBase:
            events = _events(execution, after, telling, user, tools=wanted.tools)
            response = event_stream(events, of=f"execution {execution.id}", farewell=_farewell())
            response["X-Execution-Id"] = str(execution.id)
            return response

        return Later(answer)


def _asked(user: User, wanted: "Asked") -> Execution:
    options = chosen({}) | approval_rule(None, is_watched=True)
    question = actions.Question(
        wanted.question, mode=wanted.mode, options=options, told=wanted.told, client_id=wanted.run_id
    )
    with faults_named("messages"):
        try:
            said = actions.say_in_named(user, f"thread {wanted.thread_id}", question)
        except NotThere:
            # Its person deleted that conversation. The front end tells all of it anyway.
            said = actions.say_in_named(user, f"thread {wanted.thread_id} {wanted.run_id}", question)
        refuse_another(said, question)
    return said.execution


def _resumed(request: Request, user: User, answers: Sequence[Any]) -> tuple[Execution, int]:
    """The run that goes on, and the number of its last event before. Every answer is checked before one is given."""
    token = request.auth if isinstance(request.auth, ApiToken) else None
    if Scope.APPROVE not in scopes_of(user, token):
        raise NotAllowed("scope_missing", "`resume` needs the scope 'approve'. Make a token that has it.")
    checked = []
    for answer in answers:
        serializer = RespondSerializer(data=answer)
        serializer.is_valid(raise_exception=True)
        checked.append((serializer.validated_data["request_id"], serializer.response()))
    rows = HumanRequest.objects.visible_to(user).filter(request_id__in=[request_id for request_id, _ in checked])
    runs = set(rows.values_list("execution_id", flat=True))
    execution = Execution.objects.of(user).filter(id__in=runs).first()
    if execution is None:
        raise NotThere
    if len(runs) > 1:
        raise Refused.at("resume", "These interrupts are of several runs. Resume one run at a time.")
    progress = reading.progress_of(execution.id)
    for request_id, response in checked:
        decisions.respond(user, request_id, response, via=Via.API)
    return execution, progress.last_seq if progress else 0


async def _events(
    execution: Execution, after: int, telling: "Telling", user: User, *, tools: Sequence[str]
) -> AsyncGenerator[bytes, None]:
    """Ends where the run ends, or waits for people. If the front end leaves, the run goes on. What was before `after`
    is not told again, but for how the run stands: who resumes again may come when it has ended, or waits anew."""
    from ag_ui.core import CustomEvent
    from ag_ui.encoder import EventEncoder

    encode = EventEncoder().encode
    yield encode(telling.begins()).encode()
    if tools:
        words = "Tools of the front end are not called: the agents have tools of their own."
        yield encode(CustomEvent(name="warning", value={"message": words, "tools": list(tools)})).encode()
    async with aclosing(follow(execution, after)) as events:
        async for event in events:
            body = orjson.loads(event.body) if event is not None else None
            yield "".join(map(encode, telling.of(body))).encode() if body is not None else KEEP_ALIVE
            if event is not None and event.is_last:
                return
            after = event.seq if event is not None else after
            if body is not None and not waits(body):
                continue
            if requests := await in_thread(_asked_of)(user, execution, told=after, is_said=body is not None):
                yield "".join(map(encode, telling.waits(requests))).encode()
                return
    if (end := await in_thread(end_of)(execution)) is not None:
        yield "".join(map(encode, telling.of(end))).encode()


def _farewell() -> bytes:
    from ag_ui.core import RunErrorEvent
    from ag_ui.encoder import EventEncoder

    return EventEncoder().encode(RunErrorEvent(message=outage.MESSAGE, code=outage.CODE)).encode()


def _asked_of(user: User, execution: Execution, *, told: int, is_said: bool) -> list[dict[str, Any]]:
    """What a run that waits asks people. `is_said`: that it waits; its row may say so a moment later, or a moment
    earlier: then what its log has after `told` comes first.
    """
    own = Execution.objects.of(user).filter(id=execution.id, status=ExecutionStatus.AWAITING_USER)
    if not is_said and (not own.exists() or reading.goes_on_after(execution.id, told)):
        return []
    asked = HumanRequest.objects.read_by(user).pending().filter(execution_id=execution.id)
    return [request_shape(request) for request in asked]
