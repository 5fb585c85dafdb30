"""`GET /api/v1/usage`: what was used, in tokens, calls and money. Whose may be asked for: `agents.usage.asking`."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.usage import names, reading
from agents.usage.asking import whose_usage
from agents.usage.spans import DAYS, Span, first_zone, last_days, span_fault, zone_of
from agents.usage.spent import GroupBy, Share, Spent, spent_shape
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, OneOf, own_or_404


class UsageQuerySerializer(serializers.Serializer[Any]):
    group_by = OneOf(GroupBy, default=GroupBy.DAY.value)
    to = serializers.DateField(required=False, help_text="The last day; without it today.")
    time_zone = serializers.CharField(
        required=False,
        max_length=64,
        help_text="Whose days they are, such as Europe/Berlin; without it one's own.",
    )
    user = serializers.UUIDField(required=False, help_text="Administrators only: of this person.")
    all = serializers.BooleanField(required=False, default=False, help_text="Administrators only: of everybody.")

    def get_fields(self) -> dict[str, Any]:
        """With `from`, which is no name in Python."""
        first = serializers.DateField(required=False, help_text=f"The first day; without it {DAYS} days until `to`.")
        return {**super().get_fields(), "from": first}

    def validate_time_zone(self, name: str) -> ZoneInfo:
        found = zone_of(name)
        if found is None:
            raise serializers.ValidationError(f"'{name[:64]}' is no time zone. Use a name such as Europe/Berlin.")
        return found

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        zone = attrs.get("time_zone") or first_zone(self.context["user"].time_zone, settings.TIME_ZONE)
        last = attrs.get("to") or timezone.now().astimezone(zone).date()
        # Both ends are looked at together: the days before the calendar's first are no fault of arithmetic.
        first = attrs.get("from") or (last if span_fault(last, last) else last_days(DAYS, last, zone).first)
        if fault := span_fault(first, last):
            raise serializers.ValidationError({"from" if attrs.get("from") else "to": [fault]})
        return {**attrs, "span": Span(first, last, zone)}


class SpentSerializer(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    calls = serializers.IntegerField(help_text="Of models.")
    runs = serializers.IntegerField(help_text="That called a model. One that did so on two days is counted on both.")
    cost_usd = serializers.FloatField(
        allow_null=True, help_text="Of the calls whose price is known: at least this. null: of none of them it is."
    )
    unpriced_calls = serializers.IntegerField(help_text="Calls without a known price: not in cost_usd.")


class UsageShareSerializer(SpentSerializer):
    key = serializers.CharField(
        allow_null=True,
        help_text="A day, the name of an agent or model, or the id of a person, conversation or project.",
    )
    name = serializers.CharField(allow_null=True, help_text="For people; null where it has none, or not any more.")
    provider = serializers.CharField(required=False, help_text="Of a model.")


class UsageAnswerSerializer(serializers.Serializer[Any]):
    group_by = serializers.ChoiceField(choices=[group.value for group in GroupBy])
    to = serializers.DateField()
    time_zone = serializers.CharField()
    total = SpentSerializer()
    results = UsageShareSerializer(many=True, help_text="Every day in order; all else the most expensive first.")
    more = serializers.BooleanField(help_text=f"There are more than {reading.MOST_SHARES}; the total has them all.")

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": serializers.DateField()}


class Usage(APIView):
    permission_classes = (HasScope(Scope.READ, Scope.ADMIN),)

    @extend_schema(
        parameters=[UsageQuerySerializer],
        responses={200: UsageAnswerSerializer, **dict.fromkeys((400, 401, 403, 404), ErrorSerializer)},
    )
    def get(self, request: Request) -> Response:
        """What models took: tokens, calls, runs and money, by day, agent, model, conversation or project.

        One's own, which by person is one row; administrators ask for anybody's, and by person see everybody. It
        outlives the runs and conversations.
        """
        asked = UsageQuerySerializer(data=request.query_params, context={"user": request.user})
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        group, span = GroupBy(given["group_by"]), given["span"]
        user_id = self._whose(request, given, group)
        results, more = self._results(group, span, user_id)
        total = reading.total(span, user_id)
        return Response(
            {
                "group_by": group.value,
                "from": span.first.isoformat(),
                "to": span.last.isoformat(),
                "time_zone": span.zone.key,
                "total": spent_shape(total),
                "results": results,
                "more": more,
            }
        )

    def _results(self, group: GroupBy, span: Span, user_id: UUID | None) -> tuple[list[dict[str, Any]], bool]:
        if group is GroupBy.DAY:
            return _by_day(span, user_id), False
        return _by(group, span, user_id, reader=self.request.user)

    def _whose(self, request: Request, given: dict[str, Any], group: GroupBy) -> UUID | None:
        assert isinstance(request.user, User)
        sees_all = HasScope(Scope.ADMIN)().has_permission(request, self)
        wanted = given.get("user")
        user_id = whose_usage(request.user.pk, sees_all=sees_all, everybody=given["all"], user=wanted, group=group)
        if wanted is not None:
            own_or_404(User.objects.only("id"), id=wanted)
        return user_id


def _by_day(span: Span, user_id: UUID | None) -> list[dict[str, Any]]:
    days = zip(span.days, reading.by_day(span, user_id), strict=True)
    return [_shape(day.isoformat(), None, spent) for day, spent in days]


def _by(group: GroupBy, span: Span, user_id: UUID | None, *, reader: Any) -> tuple[list[dict[str, Any]], bool]:
    found = reading.shares(group, span, user_id)
    shown = found[: reading.MOST_SHARES]
    called = names.names_of(group, [share.key for share in shown], reader=reader)
    return list(_shapes(group, shown, called)), len(found) > len(shown)


def _shapes(group: GroupBy, shares: Iterable[Share], called: dict[str, str]) -> Iterable[dict[str, Any]]:
    for share in shares:
        shape = _shape(share.key or None, called.get(share.key), share.spent)
        yield {**shape, "provider": share.detail} if group is GroupBy.MODEL else shape


def _shape(key: str | None, name: str | None, spent: Spent) -> dict[str, Any]:
    return {"key": key, "name": name, **spent_shape(spent)}
