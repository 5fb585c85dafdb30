"""The executions' endpoints: list, state, events, cancel, steer. Every query begins with what the caller may see."""

import uuid
from typing import Any, Final

import django_filters  # type: ignore[import-untyped]
import orjson
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import actions
from agents.api import serializers
from agents.api.streaming import server_sent
from agents.engine.states import ExecutionStatus
from agents.log import agent_reading, plan_reading, reading, results, shapes
from agents.log.plan_reading import Told
from agents.models import Execution
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib import looks
from hyperagent.lib.api import ErrorSerializer, Pages, own_or_404
from hyperagent.lib.async_api import (
    AsyncAnswerView,
    Later,
    ServerSentSerializer,
    event_stream,
    place_asked,
    wants_stream,
)
from hyperagent.lib.refusals import NotThere

OLDER_STATUSES: Final = {
    "success": ExecutionStatus.COMPLETED,
    "error": ExecutionStatus.FAILED,
    "interrupted": ExecutionStatus.AWAITING_USER,
    # An agent is idle when its loop has come to its end (S75); one that waits for a runner is not.
    "idle": ExecutionStatus.COMPLETED,
}
UNLISTED = ("input", "result", "answer", "question")


def visible_to(request: Request) -> QuerySet[Execution]:
    """The caller's own runs. Nobody sees another's here, administrators neither: they have the admin pages."""
    return Execution.objects.filter(user=request.user.pk).annotate(log_end=reading.log_end())


class ExecutionFilter(django_filters.FilterSet):  # type: ignore[misc]
    status = django_filters.ChoiceFilter(
        choices=[(name, name) for name in (*(status.value for status in ExecutionStatus), *OLDER_STATUSES)],
        method="of_status",
        help_text="Older programs' names for them are taken too: success, error, interrupted, idle.",
    )
    conversation = django_filters.UUIDFilter(field_name="conversation_id")
    task_id = django_filters.CharFilter(help_text="As it was given with the question.")
    user = django_filters.UUIDFilter(field_name="user_id", help_text="Administrators only: somebody else's runs.")

    class Meta:
        model = Execution
        fields = ("status", "conversation", "task_id", "user")

    def of_status(self, rows: QuerySet[Execution], _name: str, value: str) -> QuerySet[Execution]:
        return rows.filter(status=OLDER_STATUSES.get(value, value))


class ExecutionList(generics.ListAPIView[Execution]):
    """Your runs, newest first."""

    permission_classes = (HasScope(Scope.READ),)
    serializer_class = serializers.ExecutionListedSerializer
    pagination_class = Pages
    filterset_class = ExecutionFilter
    queryset = Execution.objects.none()

    def get_queryset(self) -> QuerySet[Execution]:
        rows = (
            Execution.objects.asked()
            .defer(*UNLISTED)
            .annotate(preview=Left("question", shapes.QUESTION_PREVIEW_CHARS), log_end=reading.log_end())
        )
        if self._is_about_others():
            return rows
        return rows.filter(user=self.request.user.pk)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        agent_reading.runs_with_usage(page or ())
        may_read = page and self._is_about_others() and request.user.has_perm(looks.VIEW_CONTENT)
        if page and may_read:
            looks.note(request.user, [row for row in page if row.user_id != request.user.pk], looks.READ_PREVIEW)
        return self.get_paginated_response([_listed(row, request, bool(may_read)) for row in page or []])

    def _is_about_others(self) -> bool:
        return "user" in self.request.query_params and HasScope(Scope.ADMIN)().has_permission(self.request, self)


def _listed(execution: Execution, request: Request, may_read: bool) -> dict[str, Any]:
    """What somebody else asked is shown to those only who may read what other people's runs say, and so is what they
    call their tasks."""
    preview: str = execution.preview  # type: ignore[attr-defined]
    if execution.user_id == request.user.pk or may_read:
        return shapes.listed(execution, preview)
    return {**shapes.listed(execution, ""), "task_id": None}


# Whoever may ask may have the answer.
MAY_FOLLOW = HasScope(Scope.READ, Scope.RUN)


class ExecutionDetail(APIView):
    permission_classes = (MAY_FOLLOW,)

    @extend_schema(responses={200: serializers.ExecutionSerializer, 404: ErrorSerializer})
    def get(self, request: Request, execution_id: uuid.UUID) -> Response:
        """One run with its agents and, once there is one, its answer."""
        return Response(detailed(request, execution_id))


class ExecutionCancel(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(request=None, responses={202: serializers.ExecutionSerializer, 404: ErrorSerializer})
    def post(self, request: Request, execution_id: uuid.UUID) -> Response:
        """Asks the run to stop. Doing it twice, or to a run that is over, changes nothing."""
        own_or_404(visible_to(request).only("id"), id=execution_id)
        assert isinstance(request.user, User)
        actions.cancel(execution_id, by=request.user)
        return Response(detailed(request, execution_id), status=202)


class ExecutionSteer(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=serializers.SteerSerializer,
        responses={202: serializers.ExecutionSerializer, **dict.fromkeys((400, 404, 409), ErrorSerializer)},
    )
    def post(self, request: Request, execution_id: uuid.UUID) -> Response:
        """Tells the agents of a run something while they work. Each hears it before its next look at a model. What was
        told under the same `client_id` is answered as the first time, and not told again.
        """
        own_or_404(visible_to(request).only("id"), id=execution_id)
        asked = serializers.SteerSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        assert isinstance(request.user, User)
        actions.steer(execution_id, by=request.user, **asked.validated_data)
        return Response(detailed(request, execution_id), status=202)


def detailed(request: Request, execution_id: uuid.UUID) -> dict[str, Any]:
    """Four queries at most. Raises NotThere."""
    execution = own_or_404(visible_to(request), id=execution_id)
    told = Told() if shapes.says_how_it_went(execution) else plan_reading.told_by_log(execution.id)
    agents = agent_reading.used_so_far(execution, execution.agents.defer("output"))
    return shapes.detailed(execution, agents, told)


class ExecutionEvents(AsyncAnswerView):
    permission_classes = (MAY_FOLLOW,)

    @extend_schema(
        parameters=[
            OpenApiParameter("after", int, description="The last number that you have; 0 for all."),
            OpenApiParameter(
                "limit", int, description="Events on a page (JSON only), at most 5,000, and about a megabyte."
            ),
            OpenApiParameter("without", str, enum=["token"], description="Leave these out (JSON only)."),
            OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER, description="Counts as `after`."),
        ],
        responses={
            (200, "application/json"): serializers.EventPageSerializer,
            (200, "text/event-stream"): ServerSentSerializer,
            404: ErrorSerializer,
            410: ErrorSerializer,
        },
    )
    def get(self, request: Request, execution_id: uuid.UUID) -> HttpResponseBase:
        """The event log: a page of JSON, or with `Accept: text/event-stream` all that is and all that comes. 410 once
        it is kept no longer (`log_dropped_at` of the run)."""
        wanted = place_asked(request, serializers.AfterSerializer)
        execution = reading.with_log(own_or_404(visible_to(request).defer("input", "result"), id=execution_id))
        if not wants_stream(request):
            return _page(request, execution, **wanted)

        async def answer() -> HttpResponseBase:
            return event_stream(server_sent(execution, wanted["after"]), of=f"execution {execution.id}")

        return Later(answer)


class ExecutionResult(APIView):
    permission_classes = (MAY_FOLLOW,)

    @extend_schema(responses={200: serializers.WholeResultSerializer, **dict.fromkeys((404, 410), ErrorSerializer)})
    def get(self, request: Request, execution_id: uuid.UUID, seq: int) -> Response:
        """The whole of a tool's result, whose beginning is the event of this number. 410 once it is kept no longer."""
        execution = reading.with_log(own_or_404(visible_to(request).only("id", "log_dropped_at"), id=execution_id))
        found = results.whole_result(execution.id, seq)
        if found is None:
            raise NotThere
        return Response(serializers.WholeResultSerializer(found).data)


def _page(request: Request, execution: Execution, *, after: int, limit: int, without: str = "") -> HttpResponse:
    """The bodies as they stand in the log, put together without decoding them."""
    if without:
        events = reading.events_without(without, execution.id, after, limit=limit)
    else:
        events = reading.events_after(execution.id, after, limit=limit)
    last = events[-1].seq if events else after
    base = request.build_absolute_uri(request.path)
    # While the run goes on there is always a next page: it may be empty yet.
    has_next = last < execution.last_seq or not execution.is_over
    left_out = f"&without={without}" if without else ""
    next_page = f"{base}?after={last}&limit={limit}{left_out}" if has_next else None
    previous = f"{base}?after={max(0, after - limit)}&limit={min(limit, after)}{left_out}" if after else None
    frame = orjson.dumps({"next": next_page, "previous": previous})[:-1]
    body = frame + b',"results":[' + ",".join(event.body for event in events).encode() + b"]}"
    return HttpResponse(body, content_type="application/json")
