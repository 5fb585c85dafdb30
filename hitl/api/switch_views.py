"""The endpoints of the kill switches, for administrators with the scope `admin`."""

import uuid
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request as HttpRequest
from rest_framework.response import Response as HttpResponse
from rest_framework.views import APIView

from hitl import switches
from hitl.api import rule_serializers as serializers
from hitl.kinds import SwitchScope
from hitl.models import Switch
from hitl.standing_shapes import switch_shape
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, Pages


class SwitchFilter(django_filters.FilterSet):  # type: ignore[misc]
    thrown = django_filters.BooleanFilter(field_name="lifted_at", lookup_expr="isnull")
    scope = django_filters.ChoiceFilter(choices=[(scope.value, scope.value) for scope in SwitchScope])

    class Meta:
        model = Switch
        fields = ("thrown", "scope")


class SwitchList(generics.ListAPIView[Switch]):
    """Every switch that was ever thrown, newest first; with `thrown=true` those that stop something now."""

    permission_classes = (HasScope(Scope.ADMIN),)
    serializer_class = serializers.SwitchSerializer
    pagination_class = Pages.ordered_by("-thrown_at", "-id")
    filterset_class = SwitchFilter
    queryset = Switch.objects.none()

    def get_queryset(self) -> QuerySet[Switch]:
        return Switch.objects.select_related("thrown_by", "lifted_by")

    def list(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        people = switches.people_of(page)
        return self.get_paginated_response([switch_shape(row, people=people) for row in page])

    @extend_schema(
        request=serializers.ThrowSerializer,
        responses={200: serializers.SwitchSerializer, **dict.fromkeys((400, 403), ErrorSerializer)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Throws a kill switch: from the answer on no call that changes the world begins in its scope. If it is thrown
        already, that one is answered.
        """
        asked = serializers.ThrowSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        assert isinstance(request.user, User)
        switch = switches.throw(
            request.user, scope=SwitchScope(given["scope"]), target=given["target"], reason=given["reason"]
        )
        return _shown(switch)


class SwitchDetail(APIView):
    permission_classes = (HasScope(Scope.ADMIN),)

    @extend_schema(responses={200: serializers.SwitchSerializer, **dict.fromkeys((403, 404), ErrorSerializer)})
    def delete(self, request: HttpRequest, switch_id: uuid.UUID) -> HttpResponse:
        """Lifts the switch; it stays in the list, with who lifted it and when. Lifting it twice changes nothing."""
        assert isinstance(request.user, User)
        return _shown(switches.lift(request.user, switch_id))


def _shown(switch: Switch) -> HttpResponse:
    return HttpResponse(switch_shape(switch, people=switches.people_of([switch])))
