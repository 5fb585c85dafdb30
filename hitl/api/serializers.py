"""What the requests' endpoints take and give, for checking what comes in and for the API's description. Values:
`hitl.shapes`; what fits which question: `hitl.answers`.
"""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from hitl.actions import MAX_AT_ONCE
from hitl.answers import MAX_INSTRUCTIONS_CHARS, MAX_TEXT_CHARS, Response, response_from
from hitl.api.rule_serializers import RememberField
from hitl.kinds import SNOOZED, ApproverKind, Happening, Risk, Stage, Via
from hitl.models import RequestKind, RequestStatus
from hyperagent.lib.api import OneOf, Several

MANY_VERBS = (RequestStatus.APPROVED, RequestStatus.DENIED, SNOOZED)
VERBS = (RequestStatus.APPROVED, RequestStatus.DENIED, RequestStatus.ANSWERED, SNOOZED)


class ApproversSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in ApproverKind])
    name = serializers.CharField(help_text="Of the role or group.")
    different_person = serializers.BooleanField(help_text="Whoever's run it is may not decide.")


class ReadSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="What it is: web, document, mail, file, program, server, question, earlier.")
    title = serializers.CharField()
    url = serializers.CharField(required=False)
    tool = serializers.CharField(required=False, help_text="By which it was read.")
    document_id = serializers.CharField(required=False)


class AddressPartSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    carried = serializers.BooleanField(help_text="It stands in what the run was told or has read, and would leave.")


class AddressSerializer(serializers.Serializer[Any]):
    """An address that the call would open, and that nobody named before."""

    url = serializers.CharField()
    host = serializers.CharField()
    parts = AddressPartSerializer(many=True, help_text="The whole address, decoded.")


class RequestSerializer(serializers.Serializer[Any]):
    request_id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in RequestKind])
    stage = serializers.ChoiceField(choices=[(stage.value, stage.name) for stage in Stage], allow_blank=True)
    execution_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    agent_id = serializers.UUIDField()
    agent_name = serializers.CharField()
    tool_names = serializers.ListField(child=serializers.CharField())
    tool_calls = serializers.ListField(child=serializers.DictField())
    arguments_hash = serializers.CharField(help_text="Of the tool and the arguments that are shown.")
    risk = serializers.ChoiceField(choices=[(risk.value, risk.name) for risk in Risk], allow_blank=True)
    why = serializers.CharField(help_text="Why somebody is asked.")
    task_description = serializers.CharField()
    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField(), help_text="What `choice` may be.")
    details = serializers.DictField(help_text="What else the question says, such as the plan.")
    approvers = ApproversSerializer()
    may_decide = serializers.BooleanField(help_text="It waits for the caller.")
    was_reminded = serializers.BooleanField(help_text="Whoever may decide was reminded of it.")
    rules_allowed = serializers.BooleanField(help_text="A decision may `remember`.")
    tainted_by = ReadSerializer(
        many=True,
        help_text="What the run has read that others wrote, where that is why somebody is asked: the first few.",
    )
    tainted_more = serializers.IntegerField(help_text="How many more there are.")
    address = AddressSerializer(allow_null=True)
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in RequestStatus])
    answer = serializers.JSONField(allow_null=True)
    edited_arguments = serializers.DictField(allow_null=True, help_text="Approved in place of those asked about.")
    user_instructions = serializers.CharField()
    created_at = serializers.DateTimeField()
    remind_at = serializers.DateTimeField(allow_null=True)
    snoozed_until = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    responded_at = serializers.DateTimeField(
        allow_null=True, help_text="When somebody answered; null where its time or its run ended it."
    )
    ended_at = serializers.DateTimeField(allow_null=True, help_text="Since when it waits no more, answered or not.")
    decided_by = serializers.UUIDField(allow_null=True)
    decided_by_name = serializers.CharField()
    decided_via = serializers.ChoiceField(choices=[(via.value, via.name) for via in Via], allow_blank=True)


class DecisionSerializer(serializers.Serializer[Any]):
    happening = serializers.ChoiceField(choices=[(one.value, one.name) for one in Happening])
    actor = serializers.UUIDField(allow_null=True)
    actor_name = serializers.CharField(help_text="The e-mail address at that time; empty if nobody did it.")
    via = serializers.ChoiceField(choices=[(via.value, via.name) for via in Via])
    note = serializers.CharField()
    details = serializers.DictField()
    at = serializers.DateTimeField()


class RequestDetailSerializer(RequestSerializer):
    decisions = DecisionSerializer(many=True, help_text="Everything that happened to it, oldest first.")


class RespondSerializer(serializers.Serializer[Any]):
    """What fits depends on the request's kind: a choice, a text, or a changed plan `{"tasks": [...]}`. An approval
    takes `edited_arguments`: all of them, as they are to be. What is said to an approval or a plan are `instructions`.
    """

    request_id = serializers.UUIDField()
    decision = OneOf(VERBS)
    instructions = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_INSTRUCTIONS_CHARS, trim_whitespace=False
    )
    choice = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_TEXT_CHARS, trim_whitespace=False
    )
    text = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_TEXT_CHARS, trim_whitespace=False
    )
    plan = serializers.DictField(required=False, allow_null=True)
    edited_arguments = serializers.DictField(required=False, allow_null=True)
    arguments_hash = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        max_length=64,
        help_text="Of what was shown; 409 if it is not.",
    )
    remember = RememberField(required=False, allow_null=True)
    snooze_until = serializers.DateTimeField(required=False, allow_null=True)

    def response(self) -> Response:
        """Raises Refused for a `remember` that describes no rule."""
        return response_from(self.validated_data, now=timezone.now())


class RespondToManySerializer(serializers.Serializer[Any]):
    """Approvals only are decided; requests of other kinds may be put off."""

    request_ids = Several(child=serializers.UUIDField(), min_length=1, max_length=MAX_AT_ONCE)
    decision = OneOf(MANY_VERBS)
    instructions = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_INSTRUCTIONS_CHARS, trim_whitespace=False
    )
    snooze_until = serializers.DateTimeField(required=False, allow_null=True)

    def response(self) -> Response:
        return response_from(self.validated_data, now=timezone.now())


class OutcomeSerializer(serializers.Serializer[Any]):
    request_id = serializers.UUIDField()
    ok = serializers.BooleanField()
    request = RequestSerializer(required=False)
    error = serializers.DictField(required=False, help_text="As in every error of the API.")


class OutcomesSerializer(serializers.Serializer[Any]):
    results = OutcomeSerializer(many=True)
