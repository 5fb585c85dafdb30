"""The shapes of the executions' endpoints, for checking what comes in and for the API's description. Values:
`agents.log.shapes`.
"""

from typing import Any

from rest_framework import serializers

from agents.engine.states import AgentStatus, ExecutionStatus, StepKind, StepStatus
from hyperagent.lib.api import ListSerializer


class UsageSerializer(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True, help_text="null: a model without a known price took part.")


class RunErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class SourceSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    url = serializers.CharField(allow_null=True, required=False)
    page = serializers.IntegerField(allow_null=True, required=False)
    section = serializers.CharField(allow_null=True, required=False)
    excerpt = serializers.CharField(allow_null=True, required=False)
    relevance_score = serializers.FloatField(allow_null=True, required=False)
    document_id = serializers.CharField(allow_null=True, required=False)
    chunk_id = serializers.CharField(allow_null=True, required=False)


class CheckSerializer(serializers.Serializer[Any]):
    start = serializers.IntegerField(help_text="In characters of the answer.")
    end = serializers.IntegerField()
    sentence = serializers.CharField()
    citations = serializers.ListField(child=serializers.IntegerField())
    supported = serializers.BooleanField(allow_null=True, help_text="null: nobody could tell.")
    by = serializers.ChoiceField(choices=["words", "model"])
    why = serializers.CharField()


class AgentSerializer(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    parent_id = serializers.UUIDField(allow_null=True)
    agent_name = serializers.CharField()
    step_id = serializers.CharField(
        allow_null=True, help_text="The task that it works on, of the plan if there is one."
    )
    task = serializers.CharField()
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in AgentStatus])
    modified = serializers.BooleanField(help_text="A person gave it other instructions.")
    user_comment = serializers.CharField()
    user_content = serializers.CharField()
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
    typical_use_cases = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField(
        help_text="Not while its kill switch is thrown: then nothing that it does begins."
    )
    available = serializers.BooleanField(help_text="Whether this installation has what it needs.")
    unavailable_reason = serializers.CharField(allow_null=True, help_text="What is missing, and the way out.")


class RosterSerializer(ListSerializer):
    results = RosterAgentSerializer(many=True)


class NodeSerializer(AgentSerializer):
    execution_id = serializers.UUIDField()
    subagents = serializers.ListField(child=serializers.UUIDField())


class TreeSerializer(serializers.Serializer[Any]):
    agents = serializers.DictField(child=NodeSerializer(), help_text="By their ids.")


class TreeQuerySerializer(serializers.Serializer[Any]):
    execution = serializers.UUIDField(required=False)


class ToolCallSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    arguments = serializers.CharField(help_text="JSON text, as the model wrote it.")


class AgentMessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField(help_text="system, user, assistant or tool")
    content = serializers.JSONField(help_text="Text; for an answer of a fixed form, its value.")
    thinking = serializers.CharField(required=False)
    tool_calls = ToolCallSerializer(many=True, required=False)
    tool_call_id = serializers.CharField(required=False)


class StepSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="Numbers of calls and branches from the agent's start, such as 3.1.2.")
    kind = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in StepKind])
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in StepStatus])
    request = serializers.CharField(help_text="Its beginning.")
    response = serializers.CharField(help_text="Its beginning.")
    usage = UsageSerializer(allow_null=True)
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class AgentDetailSerializer(NodeSerializer):
    messages = AgentMessageSerializer(many=True)
    steps = StepSerializer(many=True)


class InterveneSerializer(serializers.Serializer[Any]):
    """`user_comment`: `delete`, `modify`, `unchanged`, or a word to the agent while it works. `user_content`: other
    instructions in place of its task. `status`: `deleted` deletes it, `modified` without a comment is `modify`, and
    `running` says nothing.
    """

    user_comment = serializers.CharField(required=False, allow_blank=True, allow_null=True, default=None)
    user_content = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, default=None, trim_whitespace=False
    )
    status = serializers.CharField(required=False, allow_null=True, default=None)


class IntervenedSerializer(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    agent = NodeSerializer()


class SuccessSerializer(serializers.Serializer[Any]):
    success = serializers.BooleanField()


class PlanTaskSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    agent = serializers.CharField()
    task = serializers.CharField()
    expected_outcome = serializers.CharField()
    depends_on = serializers.ListField(child=serializers.CharField())
    tools = serializers.ListField(child=serializers.CharField())
    stage = serializers.IntegerField(help_text="What could run together, from 1.")
    status = serializers.CharField()
    error = serializers.CharField(allow_null=True)


class PlanSerializer(serializers.Serializer[Any]):
    intent = serializers.CharField()
    entities = serializers.DictField()
    revision = serializers.IntegerField()
    asks_about = serializers.ListField(child=serializers.CharField(), help_text="Tools that will need a yes.")
    notice = serializers.CharField()
    tasks = PlanTaskSerializer(many=True)


class RoutingSerializer(serializers.Serializer[Any]):
    """`kind` and `skill` are known once the run is over."""

    kind = serializers.ChoiceField(
        choices=["direct", "plan"], required=False, help_text="One agent, or several by a plan."
    )
    skill = serializers.CharField(
        allow_null=True, required=False, help_text="What a mode such as slide begins with; null for none."
    )
    agent = serializers.CharField()
    reason = serializers.CharField()
    confidence = serializers.FloatField()
    is_low_confidence = serializers.BooleanField()
    method = serializers.CharField()
    alternatives = serializers.ListField(child=serializers.CharField())


class ExecutionListedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in ExecutionStatus])
    mode = serializers.CharField(allow_null=True)
    task_id = serializers.CharField(allow_null=True, help_text="As whoever asked gave it.")
    question = serializers.CharField(help_text="In a list: its beginning.")
    error = RunErrorSerializer(allow_null=True)
    usage = UsageSerializer()
    last_seq = serializers.IntegerField(help_text="Number of its last event.")
    forked_from = serializers.UUIDField(allow_null=True, help_text="The run that this one began as a copy of.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    log_dropped_at = serializers.DateTimeField(
        allow_null=True, help_text="Since then its events and its steps are no longer kept."
    )


class SkippedSerializer(serializers.Serializer[Any]):
    """What was not done, with whatever else is known of it."""

    step_id = serializers.CharField(help_text="The task: an agent of the run with this `step_id` worked on it.")
    agent_id = serializers.CharField(help_text="The same. The agent's own id stands with the agents.")
    agent_name = serializers.CharField()
    error = serializers.CharField(allow_null=True, help_text="Why, such as denied_by_user.")


class ExecutionSerializer(ExecutionListedSerializer):
    trace_id = serializers.CharField(
        help_text="Of the `traceparent` that it was asked with, or one of its own: logs name it, and spans have it."
    )
    answer = serializers.CharField()
    sources = SourceSerializer(many=True)
    checks = CheckSerializer(many=True, help_text="Whether its cited sentences say what their sources say.")
    model = serializers.CharField(allow_null=True)
    plan = PlanSerializer(allow_null=True)
    routing = RoutingSerializer(allow_null=True)
    skipped = SkippedSerializer(many=True)
    agents = AgentSerializer(many=True)


class FinishedSerializer(serializers.Serializer[Any]):
    execution_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in ExecutionStatus])
    answer = serializers.CharField()
    sources = SourceSerializer(many=True)
    checks = CheckSerializer(many=True, help_text="Whether its cited sentences say what their sources say.")
    agents = AgentSerializer(many=True)
    skipped = SkippedSerializer(many=True)
    usage = UsageSerializer()


class EventPageSerializer(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = serializers.ListField(child=serializers.DictField(), help_text="Events in order, without a gap.")


class AfterSerializer(serializers.Serializer[Any]):
    """Where a reader wants to go on. Numbers stay within what the table can hold."""

    after = serializers.IntegerField(min_value=0, max_value=2**63 - 1, default=0)
    limit = serializers.IntegerField(min_value=1, max_value=5000, default=200)
    without = serializers.ChoiceField(choices=["token"], required=False, help_text="Leave out the text's frames.")


class WholeResultSerializer(serializers.Serializer[Any]):
    tool = serializers.CharField()
    content = serializers.CharField(
        trim_whitespace=False, help_text="Shorter than `chars` where not all of it was kept."
    )
    chars = serializers.IntegerField(help_text="How long it was when the tool gave it.")


class SteerSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(trim_whitespace=False)
    client_id = serializers.CharField(
        required=False, allow_null=True, default=None, help_text="The same one again tells the run nothing again."
    )
