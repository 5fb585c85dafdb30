"""The shapes of the executions' endpoints, for checking what comes in and for the API's description. Values:
`agents.shapes`.
"""

from typing import Any

from rest_framework import serializers

from agents.engine.states import AgentStatus, ExecutionStatus


class UsageSerializer(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True, help_text="null: a model without a known price took part.")


class RunErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class ErrorDetailSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()), required=False)  # type: ignore[assignment]


class ErrorSerializer(serializers.Serializer[Any]):
    error = ErrorDetailSerializer()


class SourceSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    url = serializers.CharField(allow_null=True, required=False)
    page = serializers.IntegerField(allow_null=True, required=False)
    section = serializers.CharField(allow_null=True, required=False)
    excerpt = serializers.CharField(allow_null=True, required=False)
    relevance_score = serializers.FloatField(allow_null=True, required=False)


class AgentSerializer(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    parent_id = serializers.UUIDField(allow_null=True)
    agent_name = serializers.CharField()
    task = serializers.CharField()
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in AgentStatus])
    error = serializers.CharField(allow_null=True)
    depends_on = serializers.ListField(child=serializers.UUIDField())
    usage = UsageSerializer()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class RosterAgentSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    description = serializers.CharField()
    capabilities = serializers.ListField(child=serializers.CharField())
    tools = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField()


class RosterSerializer(serializers.Serializer[Any]):
    results = RosterAgentSerializer(many=True)


class ExecutionListedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in ExecutionStatus])
    mode = serializers.CharField(allow_null=True)
    question = serializers.CharField(help_text="In a list: its beginning.")
    error = RunErrorSerializer(allow_null=True)
    usage = UsageSerializer()
    last_seq = serializers.IntegerField(help_text="Number of its last event.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ExecutionSerializer(ExecutionListedSerializer):
    answer = serializers.CharField()
    sources = SourceSerializer(many=True)
    model = serializers.CharField(allow_null=True)
    plan = serializers.JSONField(allow_null=True)
    agents = AgentSerializer(many=True)


class FinishedSerializer(serializers.Serializer[Any]):
    execution_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in ExecutionStatus])
    answer = serializers.CharField()
    sources = SourceSerializer(many=True)
    agents = AgentSerializer(many=True)
    skipped = serializers.ListField(child=serializers.DictField())
    usage = UsageSerializer()


class EventPageSerializer(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = serializers.ListField(child=serializers.DictField(), help_text="Events in order, without a gap.")


class AfterSerializer(serializers.Serializer[Any]):
    """Where a reader wants to go on. Numbers stay within what the table can hold."""

    after = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)
    limit = serializers.IntegerField(min_value=1, max_value=500, default=200)
