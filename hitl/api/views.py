"""The requests' endpoints: what waits for the caller, and their answer. Every query begins with what they may see."""

from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request as HttpRequest
from rest_framework.response import Response as HttpResponse
from rest_framework.views import APIView

from hitl import actions
from hitl.api import serializers
from hitl.models import Request, RequestStatus
from hitl.shapes import request_shape
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, Pages


class RequestFilter(django_filters.FilterSet):  # type: ignore[misc]
    status = django_filters.ChoiceFilter(choices=[(status.value, status.value) for status in RequestStatus])
    execution = django_filters.UUIDFilter(field_name="execution_id")
    conversation = django_filters.UUIDFilter(field_name="conversation_id")

    class Meta:
        model = Request
        fields = ("status", "execution", "conversation")


class RequestList(generics.ListAPIView[Request]):
    """What the caller's runs ask, newest first."""

    permission_classes = (HasScope(Scope.READ),)
    serializer_class = serializers.RequestSerializer
    pagination_class = Pages.ordered_by("-created_at", "-request_id")
    filterset_class = RequestFilter
    queryset = Request.objects.none()

    def get_queryset(self) -> QuerySet[Request]:
        assert isinstance(self.request.user, User)
        return Request.objects.visible_to(self.request.user)

    def list(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([request_shape(row) for row in page or []])


class Respond(APIView):
    permission_classes = (HasScope(Scope.APPROVE),)

    @extend_schema(
        request=serializers.RespondSerializer,
        responses={200: serializers.RequestSerializer, **dict.fromkeys((400, 404, 409), ErrorSerializer)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Answers a request. The same answer again is 200; a late or different one is 409 with the request as it is."""
        asked = serializers.RespondSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        assert isinstance(request.user, User)
        decided = actions.respond(request.user, asked.validated_data["request_id"], asked.response())
        return HttpResponse(request_shape(decided))
