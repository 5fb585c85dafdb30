"""The requests' endpoints: what waits for the caller, and their answers. Every query begins with what they may see."""

from typing import Any
from uuid import UUID

import django_filters  # type: ignore[import-untyped]
from django.db.models import F, Func, Q, QuerySet, TextField
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request as HttpRequest
from rest_framework.response import Response as HttpResponse
from rest_framework.views import APIView

from hitl import actions
from hitl.api import serializers
from hitl.kinds import Risk, Via
from hitl.models import Request, RequestKind, RequestStatus
from hitl.shapes import history_shape, request_shape
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, Pages, own_or_404

# Whoever decides has to see of what.
MAY_LOOK = HasScope(Scope.READ, Scope.APPROVE)
# What is searched of a question, in its JSON: what it asks, and the arguments of its first call.
_SEARCHED = ("{question}", "{tool_calls,0,arguments}")


class RequestFilter(django_filters.FilterSet):  # type: ignore[misc]
    status = django_filters.ChoiceFilter(choices=[(status.value, status.value) for status in RequestStatus])
    kind = django_filters.ChoiceFilter(choices=[(kind.value, kind.value) for kind in RequestKind])
    risk = django_filters.ChoiceFilter(choices=[(risk.value, risk.value) for risk in Risk])
    execution = django_filters.UUIDFilter(field_name="execution_id")
    conversation = django_filters.UUIDFilter(field_name="conversation_id")
    agent = django_filters.CharFilter(method="by_agent", help_text="The agent's name.")
    tool = django_filters.CharFilter(method="by_tool", help_text="The tool's name.")
    mine = django_filters.ChoiceFilter(
        choices=[(word, word) for word in ("decide", "own", "all")],
        method="by_reader",
        help_text="decide: those that the caller may decide; own: those of the caller's runs; all (the default): both.",
    )
    q = django_filters.CharFilter(method="by_words", help_text="Words of the question, the task or the arguments.")

    class Meta:
        model = Request
        fields = ("status", "kind", "risk", "execution", "conversation", "agent", "tool", "mine", "q")

    def by_agent(self, rows: QuerySet[Request], name: str, value: str) -> QuerySet[Request]:
        return rows.filter(agent_name=value)

    def by_tool(self, rows: QuerySet[Request], name: str, value: str) -> QuerySet[Request]:
        return rows.filter(tool_names__contains=[value])

    def by_reader(self, rows: QuerySet[Request], name: str, value: str) -> QuerySet[Request]:
        user = self.request.user
        if value == "own":
            return rows.filter(user=user)
        return rows.filter(pk__in=Request.objects.decidable_by(user).values("pk")) if value == "decide" else rows

    def by_words(self, rows: QuerySet[Request], name: str, value: str) -> QuerySet[Request]:
        words = value.strip()
        texts = {
            f"searched_{number}": Func(
                F("question"), template=f"(%(expressions)s #>> '{path}')", output_field=TextField()
            )
            for number, path in enumerate(_SEARCHED)
        }
        found = Q(task_description__icontains=words) | Q(agent_name__icontains=words)
        found |= Q(tool_names__contains=[words])
        for alias in texts:
            found |= Q(**{f"{alias}__icontains": words})
        return rows.alias(**texts).filter(found)


class RequestList(generics.ListAPIView[Request]):
    """What the caller's runs ask, and what others' runs ask of the caller, newest first."""

    permission_classes = (MAY_LOOK,)
    serializer_class = serializers.RequestSerializer
    pagination_class = Pages.ordered_by("-created_at", "-request_id")
    filterset_class = RequestFilter
    queryset = Request.objects.none()

    def get_queryset(self) -> QuerySet[Request]:
        assert isinstance(self.request.user, User)
        return Request.objects.read_by(self.request.user)

    def list(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([request_shape(row) for row in page or []])


class RequestDetail(APIView):
    permission_classes = (MAY_LOOK,)

    @extend_schema(responses={200: serializers.RequestDetailSerializer, 404: ErrorSerializer})
    def get(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """One request with everything that happened to it."""
        assert isinstance(request.user, User)
        found = own_or_404(Request.objects.read_by(request.user), request_id=request_id)
        history = [history_shape(decision) for decision in found.decisions.order_by("at", "id")]
        return HttpResponse({**request_shape(found), "decisions": history})


class Respond(APIView):
    permission_classes = (HasScope(Scope.APPROVE),)

    @extend_schema(
        request=serializers.RespondSerializer,
        responses={200: serializers.RequestSerializer, **dict.fromkeys((400, 403, 404, 409), ErrorSerializer)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Answers a request. The same answer again is 200; a late or different one is 409 with the request as it is."""
        asked = serializers.RespondSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        assert isinstance(request.user, User)
        decided = actions.respond(
            request.user, asked.validated_data["request_id"], asked.response(), via=_door(request)
        )
        return HttpResponse(request_shape(decided))


class RespondToMany(APIView):
    permission_classes = (HasScope(Scope.APPROVE),)

    @extend_schema(
        request=serializers.RespondToManySerializer,
        responses={200: serializers.OutcomesSerializer, 400: ErrorSerializer},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """The same answer to many requests, each decided for itself."""
        asked = serializers.RespondToManySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        assert isinstance(request.user, User)
        outcomes = actions.respond_to_many(
            request.user, asked.validated_data["request_ids"], asked.response(), via=_door(request)
        )
        return HttpResponse({"results": [_outcome(outcome) for outcome in outcomes]})


def _outcome(outcome: actions.Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {"request_id": str(outcome.request_id), "ok": outcome.refused is None}
    if outcome.refused is not None:
        told["error"] = outcome.refused.as_error()
    if outcome.request is not None:
        told["request"] = request_shape(outcome.request)
    return told


def _door(request: HttpRequest) -> Via:
    """A session is a person at our own pages; a token is a program."""
    return Via.API if isinstance(request.auth, ApiToken) else Via.PAGE
