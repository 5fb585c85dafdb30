"""How one's own budgets stand (`/api/v1/budgets`), and for administrators what is set, and setting it (`…/all`)."""

from typing import Any

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.usage import purses, setting
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.budget_models import Budget
from hyperagent.accounts.budgets import Period, Unit, Whose, as_json
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, OneOf, own_or_404


class StandingSerializer(serializers.Serializer[Any]):
    """A budget that holds for somebody; what is set for everybody is each person's own here. Amounts are dollars or
    tokens, as `unit` says; days and months are of UTC.
    """

    whose = OneOf(Whose)
    name = serializers.CharField(allow_null=True, help_text="Of a group.")
    period = OneOf(Period)
    unit = OneOf(Unit)
    amount = serializers.FloatField()
    used = serializers.FloatField(help_text="Without calls whose price is not known, where the unit is usd.")
    reserved = serializers.FloatField(help_text="By calls that are being made.")
    left = serializers.FloatField()
    used_up = serializers.BooleanField(help_text="Nothing is begun any more until it starts anew.")
    starts_at = serializers.DateTimeField()
    starts_anew_at = serializers.DateTimeField()
    unpriced_calls = serializers.IntegerField()


class SetBudgetSerializer(serializers.Serializer[Any]):
    """As it is set; 0: no limit."""

    id = serializers.IntegerField()
    whose = OneOf(Whose)
    user = serializers.UUIDField(source="user_id", allow_null=True)
    group = serializers.IntegerField(source="group_id", allow_null=True)
    name = serializers.SerializerMethodField()
    period = OneOf(Period)
    unit = OneOf(Unit)
    amount = serializers.FloatField()
    set_at = serializers.DateTimeField()

    def get_name(self, budget: Budget) -> str | None:
        return setting.name_of(budget) or None


class StandingsSerializer(serializers.Serializer[Any]):
    budgets = StandingSerializer(many=True)


class SetBudgetsSerializer(serializers.Serializer[Any]):
    budgets = SetBudgetSerializer(many=True)


class NewBudgetSerializer(serializers.Serializer[Any]):
    whose = OneOf(Whose)
    user = serializers.UUIDField(required=False, allow_null=True, default=None)
    group = serializers.IntegerField(required=False, allow_null=True, default=None)
    period = OneOf(Period)
    unit = OneOf(Unit)
    amount = serializers.DecimalField(max_digits=19, decimal_places=6, min_value=0, help_text="0: no limit.")


class OwnBudgets(APIView):
    permission_classes = (HasScope(Scope.READ),)

    @extend_schema(responses={200: StandingsSerializer, **dict.fromkeys((401, 403), ErrorSerializer)})
    def get(self, request: Request) -> Response:
        """How the budgets stand that hold for you: your own, those of your groups, and the installation's."""
        assert isinstance(request.user, User)
        return Response({"budgets": [as_json(limit) for limit in purses.standing_of(request.user.pk)]})


class AllBudgets(APIView):
    permission_classes = (HasScope(Scope.ADMIN),)

    @extend_schema(responses={200: SetBudgetsSerializer, **dict.fromkeys((401, 403), ErrorSerializer)})
    def get(self, request: Request) -> Response:
        """Every budget that is set, for administrators. What is not set is as the installation's settings have it."""
        rows = Budget.objects.select_related("user", "group").order_by("whose", "id")
        return Response({"budgets": SetBudgetSerializer(rows, many=True).data})

    @extend_schema(
        request=NewBudgetSerializer,
        responses={200: SetBudgetSerializer, **dict.fromkeys((400, 401, 403, 404), ErrorSerializer)},
    )
    def put(self, request: Request) -> Response:
        """Sets a budget, or changes it. It holds within seconds, and what was used of the day or month already
        counts.
        """
        assert isinstance(request.user, User)
        asked = NewBudgetSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given: dict[str, Any] = asked.validated_data
        user = own_or_404(User.objects.all(), pk=given["user"]) if given["user"] else None
        group = own_or_404(Group.objects.all(), pk=given["group"]) if given["group"] is not None else None
        budget = setting.set_budget(
            by=request.user,
            whose=Whose(given["whose"]),
            period=Period(given["period"]),
            unit=Unit(given["unit"]),
            amount=given["amount"],
            user=user,
            group=group,
            request=request._request,
        )
        return Response(SetBudgetSerializer(budget).data)


class BudgetDetail(APIView):
    permission_classes = (HasScope(Scope.ADMIN),)

    @extend_schema(responses={204: None, **dict.fromkeys((401, 403, 404), ErrorSerializer)})
    def delete(self, request: Request, budget_id: int) -> Response:
        """Deletes a budget that was set. What is set for everybody holds in its place, or nothing."""
        assert isinstance(request.user, User)
        budget = own_or_404(Budget.objects.select_related("user", "group"), pk=budget_id)
        setting.end_budget(budget, by=request.user, request=request._request)
        return Response(status=204)
