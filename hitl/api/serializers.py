"""What the requests' endpoints take and give, for checking what comes in and for the API's description. Values:
`hitl.shapes`; what fits which question: `hitl.answers`.
"""

from typing import Any

from rest_framework import serializers

from hitl.answers import MAX_INSTRUCTIONS_CHARS, MAX_TEXT_CHARS, Response
from hitl.models import RequestKind, RequestStatus
from hyperagent.lib.api import OneOf

VERBS = (RequestStatus.APPROVED, RequestStatus.DENIED, RequestStatus.ANSWERED)


class RequestSerializer(serializers.Serializer[Any]):
    request_id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in RequestKind])
    execution_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    agent_id = serializers.UUIDField()
    agent_name = serializers.CharField()
    tool_names = serializers.ListField(child=serializers.CharField())
    tool_calls = serializers.ListField(child=serializers.DictField())
    task_description = serializers.CharField()
    question = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField(), help_text="What `choice` may be.")
    details = serializers.DictField(help_text="What else the question says, such as the plan.")
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in RequestStatus])
    answer = serializers.JSONField(allow_null=True)
    user_instructions = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    responded_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.UUIDField(allow_null=True)


class RespondSerializer(serializers.Serializer[Any]):
    """What fits depends on the request's kind: a choice, a text, or a changed plan `{"tasks": [...]}`."""

    request_id = serializers.UUIDField()
    decision = OneOf(VERBS)
    instructions = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_INSTRUCTIONS_CHARS, trim_whitespace=False
    )
    choice = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=MAX_TEXT_CHARS)
    text = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, max_length=MAX_TEXT_CHARS, trim_whitespace=False
    )
    plan = serializers.DictField(required=False, allow_null=True)

    def response(self) -> Response:
        given = self.validated_data
        return Response(
            decision=RequestStatus(given["decision"]),
            instructions=given.get("instructions") or "",
            choice=given.get("choice"),
            text=given.get("text"),
            plan=given.get("plan"),
        )
