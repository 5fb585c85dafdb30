"""The endpoints of standing rules: one's own list, how a rule would read, and taking one back."""

import uuid
from typing import Any

import django_filters  # type: ignore[import-untyped]
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request as HttpRequest
from rest_framework.response import Response as HttpResponse
from rest_framework.views import APIView

from hitl import rules
from hitl.api import rule_serializers as serializers
from hitl.kinds import RequestStatus, RuleEffect
from hitl.models import Rule
from hitl.models.rules import RuleQuerySet
from hitl.remembering import remember_from
from hitl.standing_shapes import rule_shape
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of
from hyperagent.lib.api import ErrorSerializer, Pages


class RuleFilter(django_filters.FilterSet):  # type: ignore[misc]
    standing = django_filters.BooleanFilter(method="by_standing", label="Those that count now, or those that do not.")
    effect = django_filters.ChoiceFilter(choices=[(effect.value, effect.value) for effect in RuleEffect])
    tool = django_filters.CharFilter()
    execution = django_filters.UUIDFilter(field_name="execution_id")
    conversation = django_filters.UUIDFilter(field_name="conversation_id")

    class Meta:
        model = Rule
        fields = ("standing", "effect", "tool", "execution", "conversation")

    def by_standing(self, rows: RuleQuerySet, name: str, wanted: bool) -> RuleQuerySet:
        return rows.standing() if wanted else rows.exclude(pk__in=rows.standing().values("pk"))


class RuleList(generics.ListAPIView[Rule]):
    """The caller's standing rules, newest first; those that no longer count too, unless `standing` says otherwise."""

    permission_classes = (HasScope(Scope.READ),)
    serializer_class = serializers.RuleSerializer
    pagination_class = Pages.ordered_by("-created_at", "-id")
    filterset_class = RuleFilter
    queryset = Rule.objects.none()

    def get_queryset(self) -> QuerySet[Rule]:
        assert isinstance(self.request.user, User)
        return Rule.objects.of(self.request.user).select_related("revoked_by")

    def list(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        now = timezone.now()
        return self.get_paginated_response([rule_shape(row, now=now) for row in page or []])


class RulePreview(APIView):
    permission_classes = (HasScope(Scope.APPROVE),)

    @extend_schema(
        request=serializers.AskPreviewSerializer,
        responses={200: serializers.PreviewSerializer, **dict.fromkeys((400, 403, 404, 409), ErrorSerializer)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """How a rule would read if the request were decided so with `remember`. Saves nothing."""
        asked = serializers.AskPreviewSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        assert isinstance(request.user, User)
        now = timezone.now()
        proposed = rules.preview(
            request.user,
            given["request_id"],
            given=remember_from(given["remember"], now=now),
            decision=RequestStatus(given["decision"]),
            edited_arguments=given.get("edited_arguments"),
        )
        return HttpResponse({"text": proposed.text, "rule": rule_shape(proposed.rule, now=now, saved=False)})


class RuleDetail(APIView):
    permission_classes = (HasScope(Scope.APPROVE),)

    @extend_schema(responses={200: serializers.RuleSerializer, 404: ErrorSerializer})
    def delete(self, request: HttpRequest, rule_id: uuid.UUID) -> HttpResponse:
        """Takes a rule back, from the next call on; it stays in the list. Administrators may take back anybody's."""
        assert isinstance(request.user, User)
        token = request.auth if isinstance(request.auth, ApiToken) else None
        is_admin = Scope.ADMIN in scopes_of(request.user, token)
        revoke = rules.revoke_as_administrator if is_admin else rules.revoke
        return HttpResponse(rule_shape(revoke(request.user, rule_id), now=timezone.now()))
