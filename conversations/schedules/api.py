"""`/schedules`: questions that are asked by themselves. The owner's alone; for everybody else they are as ones that do
not exist.
"""

import uuid
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from conversations.schedules import actions, reading
from conversations.schedules.kinds import (
    LEAST_APART_S,
    MOST_ACTIVE,
    TITLE_CHARS,
    ApprovalRule,
    Cause,
    Kind,
    PausedWhy,
    SkippedWhy,
    State,
    Talk,
    WhenMissed,
)
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.schedules.shapes import run_shape, schedule_shape
from conversations.schedules.validation import ScheduleInput
from hyperagent.accounts.models import ApiToken
from hyperagent.accounts.scoped import ScopedView
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of
from hyperagent.lib.api import ErrorSerializer, OneOf, Pages, Several
from hyperagent.lib.database import db_now
from hyperagent.lib.refusals import NotAllowed

MOST_DOCUMENTS = 20
# Named in the description of the API (settings).
KINDS = [kind.value for kind in Kind]
APPROVAL_RULES = [rule.value for rule in ApprovalRule]
_RULES = (
    "What becomes of a call that needs a yes, as nobody watches. wait: it waits in the inbox. deny: it is denied. "
    "preapproved: what `preapproved` names goes ahead, all else is denied."
)


class LocalMoment(serializers.DateTimeField):
    """Without a zone it is one of the schedule's own."""

    def enforce_timezone(self, value: datetime) -> datetime:
        return value if value.tzinfo is None else super().enforce_timezone(value)


class ScheduleWriteSerializer(serializers.Serializer[Any]):
    # Length and emptiness are the action's to judge, for every face alike.
    question = serializers.CharField(allow_blank=True, trim_whitespace=False)
    on_approval = OneOf(ApprovalRule, help_text=_RULES)
    kind = OneOf(Kind, help_text="once (`at`), every (`every_s`) or cron (`cron`).")
    at = LocalMoment(
        required=False, allow_null=True, help_text="Of what comes once. Without an offset: of `time_zone`."
    )
    every_s = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text=f"Seconds between two times, in whole minutes; {LEAST_APART_S} at least.",
    )
    cron = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        max_length=1_000,
        help_text="Five fields, such as 30 8 * * 1-5; L is the last day of a month.",
    )
    time_zone = serializers.CharField(
        required=False, max_length=100, help_text="Such as Europe/Berlin. Without: the caller's own, else UTC."
    )
    title = serializers.CharField(required=False, allow_blank=True, max_length=TITLE_CHARS)
    mode = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=100)
    talk = OneOf(Talk, required=False, help_text="new: each in a new conversation. same: all in one.")
    conversation_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="With talk same: the one to go on in. Without, the first run begins it.",
    )
    project_id = serializers.UUIDField(required=False, allow_null=True, help_text="Of conversations that it begins.")
    document_ids = Several(child=serializers.UUIDField(), required=False, max_length=MOST_DOCUMENTS)
    preapproved = serializers.JSONField(
        required=False,
        help_text='What needs no yes: [{"tool", "conditions": [{"path", "op", "value"}]}]. Needs the scope approve.',
    )
    when_missed = OneOf(
        WhenMissed,
        required=False,
        help_text="Times that came while nothing ran here. once: one run makes up for them. skip: they are left out.",
    )
    ends_at = LocalMoment(required=False, allow_null=True, help_text="Nothing comes after. Null: it has no end.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("conversation_id") and attrs.setdefault("talk", Talk.SAME) != Talk.SAME:
            raise serializers.ValidationError(
                {
                    "conversation_id": [
                        _("Each question begins a new conversation. Leave this out, or set talk to same.")
                    ]
                }
            )
        return attrs

    def wishes(self) -> dict[str, Any]:
        """What was given, as a ScheduleInput has it."""
        given: dict[str, Any] = dict(self.validated_data)
        # As a schedule is shown, so that it can be sent back.
        given |= {name: "" for name in ("cron", "mode") if name in given and given[name] is None}
        words = {
            "on_approval": ApprovalRule,
            "kind": Kind,
            "talk": Talk,
            "when_missed": WhenMissed,
            "document_ids": tuple,
        }
        return {name: words[name](value) if name in words else value for name, value in given.items()}


class ScheduledRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    cause = serializers.ChoiceField(
        choices=[cause.value for cause in Cause], help_text="catch_up: its time, and perhaps more, had been missed."
    )
    due_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(help_text="When its time was seen to.")
    missed = serializers.IntegerField(help_text="Later times that this one stands for too.")
    status = serializers.CharField(help_text="skipped, refused, or the status of its run.")
    skipped_why = serializers.ChoiceField(choices=[why.value for why in SkippedWhy], allow_null=True)
    error = serializers.CharField(allow_null=True)
    execution_id = serializers.UUIDField(allow_null=True)
    conversation_id = serializers.UUIDField(allow_null=True)


class ScheduleSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    title = serializers.CharField()
    question = serializers.CharField()
    mode = serializers.CharField(allow_null=True)
    kind = serializers.ChoiceField(choices=KINDS)
    at = serializers.DateTimeField(allow_null=True)
    every_s = serializers.IntegerField(allow_null=True)
    cron = serializers.CharField(allow_null=True)
    time_zone = serializers.CharField()
    words = serializers.CharField(help_text="Its times in words.")
    talk = serializers.ChoiceField(choices=[talk.value for talk in Talk])
    conversation_id = serializers.UUIDField(allow_null=True)
    project_id = serializers.UUIDField(allow_null=True)
    document_ids = serializers.ListField(child=serializers.UUIDField())
    on_approval = serializers.ChoiceField(choices=APPROVAL_RULES)
    preapproved = serializers.JSONField()
    when_missed = serializers.ChoiceField(choices=[way.value for way in WhenMissed])
    ends_at = serializers.DateTimeField(allow_null=True)
    state = serializers.ChoiceField(choices=[state.value for state in State])
    paused_why = serializers.ChoiceField(choices=[why.value for why in PausedWhy], allow_null=True)
    next_at = serializers.ListField(child=serializers.DateTimeField(), help_text="Its next times, five at most.")
    last_run = ScheduledRunSerializer(allow_null=True)
    created_at = serializers.DateTimeField()


class SchedulesView(ScopedView):
    def shown(self, schedule: Schedule, *, status: int = 200) -> Response:
        last = reading.last_runs([schedule]).get(schedule.pk)
        return Response(schedule_shape(schedule, last, now=db_now()), status=status)

    def check_may(self, wish: ScheduleInput) -> None:
        """A yes beforehand is a yes: who may not approve may neither give it nor change what it is given for."""
        token = self.request.auth if isinstance(self.request.auth, ApiToken) else None
        if wish.on_approval == ApprovalRule.PREAPPROVED and Scope.APPROVE not in scopes_of(self.caller, token):
            raise NotAllowed(
                "scope_missing", "A schedule with `preapproved` needs the scope 'approve'. Make a token that has it."
            )


class ScheduleList(SchedulesView, generics.GenericAPIView[Schedule]):
    serializer_class = ScheduleSerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = Schedule.objects.none()

    def get_queryset(self) -> QuerySet[Schedule]:
        return reading.schedules_of(self.caller)

    @extend_schema(responses={200: ScheduleSerializer(many=True)})
    def get(self, request: Request) -> Response:
        """The caller's own, newest first."""
        page = self.paginate_queryset(self.get_queryset()) or []
        last, now = reading.last_runs(page), db_now()
        return self.get_paginated_response([schedule_shape(one, last.get(one.pk), now=now) for one in page])

    @extend_schema(
        request=ScheduleWriteSerializer,
        responses={201: ScheduleSerializer, **dict.fromkeys((400, 403, 409), ErrorSerializer)},
        description=f"Its times lie at least {LEAST_APART_S // 60} minutes apart; at most {MOST_ACTIVE} are active.",
    )
    def post(self, request: Request) -> Response:
        asked = ScheduleWriteSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        wish = ScheduleInput(**{"time_zone": self.caller.time_zone or "UTC", **asked.wishes()})
        self.check_may(wish)
        return self.shown(actions.create(self.caller, wish), status=201)


class ScheduleDetail(SchedulesView):
    @extend_schema(responses={200: ScheduleSerializer, 404: ErrorSerializer})
    def get(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """One schedule: its next times and its last run."""
        return self.shown(actions.own(self.caller, schedule_id))

    @extend_schema(
        request=ScheduleWriteSerializer(partial=True),
        responses={200: ScheduleSerializer, **dict.fromkeys((400, 403, 404, 409), ErrorSerializer)},
    )
    def patch(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Changes what is sent. Other times count from now on, and one that was over goes on if a time is to come."""
        actions.own(self.caller, schedule_id)
        asked = ScheduleWriteSerializer(data=request.data, partial=True)
        asked.is_valid(raise_exception=True)
        return self.shown(actions.change_some(self.caller, schedule_id, check=self.check_may, **asked.wishes()))

    @extend_schema(request=None, responses={204: None, 404: ErrorSerializer})
    def delete(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Deletes it with its history. The conversations and runs that it began stay."""
        actions.delete(self.caller, schedule_id)
        return Response(status=204)


class ScheduleRun(SchedulesView):
    @extend_schema(
        request=None, responses={202: ScheduledRunSerializer, **dict.fromkeys((400, 404, 409, 429), ErrorSerializer)}
    )
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Asks its question now, whether it is paused or not; its own times stay as they are."""
        return Response(run_shape(actions.run_now(self.caller, schedule_id)), status=202)


class SchedulePause(SchedulesView):
    @extend_schema(request=None, responses={200: ScheduleSerializer, **dict.fromkeys((404, 409), ErrorSerializer)})
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Pauses it: times that come meanwhile are not made up for. Pausing it twice changes nothing. 409 if it is
        over.
        """
        return self.shown(actions.pause(self.caller, schedule_id))


class ScheduleResume(SchedulesView):
    @extend_schema(request=None, responses={200: ScheduleSerializer, **dict.fromkeys((404, 409), ErrorSerializer)})
    def post(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Goes on with its next time from now on. Resuming it twice changes nothing. 409 if no time is to come."""
        return self.shown(actions.resume(self.caller, schedule_id))


class ScheduleRuns(SchedulesView, generics.GenericAPIView[ScheduledRun]):
    serializer_class = ScheduledRunSerializer
    pagination_class = Pages
    filter_backends = ()
    queryset = ScheduledRun.objects.none()

    def get_queryset(self) -> QuerySet[ScheduledRun]:
        return reading.runs_of(actions.own(self.caller, self.kwargs["schedule_id"]))

    @extend_schema(responses={200: ScheduledRunSerializer(many=True), 404: ErrorSerializer})
    def get(self, request: Request, schedule_id: uuid.UUID) -> Response:
        """Its history, newest first: what was asked, what was left out and why."""
        page = self.paginate_queryset(self.get_queryset()) or []
        return self.get_paginated_response([run_shape(run) for run in page])
