"""What the conversations' endpoints take and give. Values come from `conversations.shapes`; rules are in `actions`."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agents.api.serializers import (
    CheckSerializer,
    FinishedSerializer,
    PlanSerializer,
    RoutingSerializer,
    RunErrorSerializer,
    SourceSerializer,
    UsageSerializer,
)
from agents.engine.states import ExecutionStatus
from agents.run_budget import MAX_TOKENS, MAX_USD
from conversations.history import Said
from conversations.models import Conversation, Origin, Role
from conversations.options import Depth, OnApproval, Scenario, model_fault, provider_chosen_by, provider_fault
from conversations.reading import MAX_MESSAGES
from hitl.api.serializers import RequestSerializer
from hyperagent.lib.api import KnownNames, ListSerializer, NullIsLeftOut, OneOf, Several, with_format
from hyperagent.lib.conf import ExecutionMode
from hyperagent.lib.languages import grouped
from hyperagent.lib.llm import LLMSettings, Tier

MAX_TOLD = 200
# How many may belong to one question is the action's to judge; this is how many are looked at.
MOST_NAMED = 1_000
ATTACHED = "Ids of documents that belong to the question: uploaded before, and the caller's to see."
TEMPORARY = "Nothing is remembered of it, nothing remembered is told in it, and no list has it."


class ProjectNameSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class ConversationSerializer(serializers.ModelSerializer[Conversation]):
    running = serializers.BooleanField(read_only=True, help_text="A run of it is not over.")
    project = serializers.SerializerMethodField()

    class Meta:
        model = Conversation
        fields = (
            "id",
            "title",
            "origin",
            "project",
            "is_temporary",
            "pinned_at",
            "created_at",
            "updated_at",
            "running",
        )

    @extend_schema_field(ProjectNameSerializer(allow_null=True))
    def get_project(self, conversation: Conversation) -> dict[str, str] | None:
        """Null too for whoever has left it."""
        if conversation.project is None or not getattr(conversation, "in_project", False):
            return None
        return {"id": str(conversation.project.pk), "name": conversation.project.name}


class ConversationWriteSerializer(NullIsLeftOut):
    title = serializers.CharField(max_length=200, required=False, allow_null=True, allow_blank=True, default="")
    project_id = serializers.UUIDField(required=False, allow_null=True, default=None)
    temporary = serializers.BooleanField(required=False, allow_null=True, default=False, help_text=TEMPORARY)


class ConversationChangeSerializer(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=200, required=False)
    project_id = serializers.UUIDField(required=False, allow_null=True, help_text="null: out of any project")
    pinned = serializers.BooleanField(required=False, help_text="Above the others in the list, or no more.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(
                {"title": [_("Give a title, a project_id or pinned, or several of them.")]}
            )
        return attrs


class ConversationQuerySerializer(serializers.Serializer[Any]):
    origin = serializers.ChoiceField(
        choices=[*(origin.value for origin in Origin), "all"],
        required=False,
        help_text="Without it: all for a token, and all but those of programs for a session.",
    )


class LearnedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    became = serializers.ChoiceField(choices=["learned", "replaced", "quarantined", "forgotten"])
    kind = serializers.CharField()
    field = serializers.CharField(allow_blank=True)


class RunMemorySerializer(serializers.Serializer[Any]):
    used = serializers.IntegerField(help_text="How many memories it was told.")
    learned = LearnedSerializer(many=True)


class ReplyRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in ExecutionStatus])
    last_seq = serializers.IntegerField()
    error = RunErrorSerializer(allow_null=True)
    usage = UsageSerializer()
    model = serializers.CharField(allow_null=True)
    provider = serializers.CharField(allow_null=True, help_text="Of the model; null until it has answered.")
    memory = RunMemorySerializer(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    first_token_at = serializers.DateTimeField(
        allow_null=True, help_text="When the first word of the answer was shown; null until it has ended."
    )
    thought_ms = serializers.IntegerField(
        allow_null=True,
        help_text="From the first to the last of the thoughts that were shown; null if there were none.",
    )
    ended_at = serializers.DateTimeField(allow_null=True)


class AttachmentSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="Of the document.")
    name = serializers.CharField(help_text="Of the file, when it was attached.")


class UnaskedSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    why = serializers.CharField()


class MessageSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    parent_id = serializers.UUIDField(allow_null=True)
    role = serializers.ChoiceField(choices=[role.value for role in Role])
    text = serializers.CharField()
    created_at = serializers.DateTimeField()
    mode = serializers.CharField(allow_null=True)
    client_id = serializers.CharField(allow_null=True)
    attachments = AttachmentSerializer(many=True)
    follow_ups = serializers.ListField(
        child=serializers.CharField(), help_text="What may be asked next; of an answer, at most three."
    )
    unasked = UnaskedSerializer(
        allow_null=True, help_text="Of an answer: what was added and no agent read, and why it was not asked either."
    )
    execution = ReplyRunSerializer(allow_null=True)
    sources = SourceSerializer(many=True)
    checks = CheckSerializer(many=True)


class ExportedMessageSerializer(MessageSerializer):
    plan = PlanSerializer(allow_null=True)
    routing = RoutingSerializer(allow_null=True)


class ExportedConversationSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="Of this form.")
    exported_at = serializers.DateTimeField()
    conversation = ConversationSerializer()
    shown_branch = serializers.ListField(child=serializers.UUIDField(), help_text="Its messages, oldest first.")
    results = ExportedMessageSerializer(many=True)


class MessagesSerializer(ListSerializer):
    """`next`: the page of what was said before these."""

    results = MessageSerializer(many=True)
    has_earlier = serializers.BooleanField(help_text="Whether there are messages before these.")


class MessagesQuerySerializer(serializers.Serializer[Any]):
    limit = serializers.IntegerField(min_value=1, max_value=MAX_MESSAGES, default=MAX_MESSAGES)
    before = serializers.UUIDField(default=None, help_text="A message of this conversation: those before it.")


class BudgetSerializer(KnownNames):
    """What the run may use, over all of its agents. At its end a person is asked: raise it, finish, or stop."""

    max_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MAX_TOKENS)
    max_cost_usd = serializers.FloatField(required=False, allow_null=True, min_value=0.000001, max_value=MAX_USD)

    no_such = gettext_lazy("There is no such limit. Use {known}.")


class OptionsSerializer(NullIsLeftOut):
    """What whoever asks may choose for the run."""

    depth = OneOf(Depth, required=False, allow_null=True, help_text="Of research.")
    scenario = OneOf(Scenario, required=False, allow_null=True, help_text="Of research.")
    execution_mode = OneOf(ExecutionMode, required=False, allow_null=True)
    show_plan = serializers.BooleanField(
        required=False, allow_null=True, default=False, help_text="Show a plan before it runs."
    )
    budget = BudgetSerializer(required=False, allow_null=True)


class SayOptionsSerializer(KnownNames, OptionsSerializer):
    """What whoever asks may choose for the run, by its name."""

    no_such = gettext_lazy("There is no such option. Use {known}.")


class SaySerializer(serializers.Serializer[Any]):
    # Length and emptiness are the action's to judge, for every face alike.
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)
    mode = serializers.CharField(required=False, allow_null=True, allow_blank=True, default=None)
    client_id = serializers.CharField(required=False, allow_null=True, default=None)
    options = SayOptionsSerializer(required=False, allow_null=True, default=None)
    attachment_ids = Several(
        child=serializers.CharField(),
        max_length=MOST_NAMED,
        required=False,
        allow_null=True,
        default=None,
        help_text=ATTACHED,
    )
    edits = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The question beside which this one begins a branch."
    )
    after = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The message that it follows; without: the newest."
    )
    parent_id = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="As `after`: the `parent_id` that the question gets."
    )


class SaidSerializer(serializers.Serializer[Any]):
    message = MessageSerializer()
    reply = MessageSerializer()


class RetriedSerializer(serializers.Serializer[Any]):
    reply = MessageSerializer()


EXPORTED_AS: Final = {"markdown": "text/markdown", "json": "application/json"}
"""The forms of an exported conversation, with their media types; the first is for who does not say."""


class ExportQuerySerializer(serializers.Serializer[Any]):
    def get_fields(self) -> dict[str, Any]:
        # No attribute can have this name.
        return {"as": serializers.ChoiceField(choices=list(EXPORTED_AS), default=None)}

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(with_format(data, counts_as="as"))


class WaitingSerializer(FinishedSerializer):
    requests = RequestSerializer(many=True)


class ToldSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=[role.value for role in Role])
    content = serializers.CharField(allow_blank=True, trim_whitespace=False)


class ToldInAddress(serializers.CharField):
    """A history as JSON text, for a request that has no body."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            given = json.loads(super().to_internal_value(data))
        except (ValueError, RecursionError):
            raise serializers.ValidationError(
                _('This is no JSON. Send a list such as [{"role": "user", "content": "Hello"}].')
            ) from None
        return ToldSerializer(many=True, max_length=MAX_TOLD).run_validation(given)  # type: ignore[call-arg]


class QuerySerializer(OptionsSerializer):
    """`messages` is a history that the client keeps itself; it replaces the conversation's."""

    query = serializers.CharField(allow_blank=True, trim_whitespace=False)
    mode = serializers.CharField(required=False, allow_null=True, allow_blank=True, default=None)
    conversation_id = serializers.UUIDField(required=False, allow_null=True, default=None)
    project_id = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="Of the conversation that the question begins."
    )
    temporary = serializers.BooleanField(required=False, allow_null=True, default=False, help_text=TEMPORARY)
    messages = ToldSerializer(many=True, required=False, allow_null=True, default=None, max_length=MAX_TOLD)  # type: ignore[call-arg]
    task_id = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=100,
        help_text="Your own name for the task that the question belongs to; `GET /executions?task_id=` finds its runs.",
    )
    provider = serializers.CharField(required=False, allow_null=True, max_length=100)
    model = serializers.CharField(required=False, allow_null=True, max_length=200)
    tier = serializers.CharField(required=False, allow_null=True, help_text="max, pro, flash or lite")
    on_approval = OneOf(
        OnApproval,
        required=False,
        allow_null=True,
        default=None,
        help_text="What becomes of what needs a yes. Without: a stream asks whoever reads it, all else leaves it out.",
    )
    preapproved = serializers.JSONField(
        required=False,
        allow_null=True,
        default=None,
        help_text='What needs no yes in this run: [{"tool", "conditions": [{"path", "op", "value"}]}]. Scope approve.',
    )
    attachment_ids = Several(
        child=serializers.CharField(), max_length=MOST_NAMED, required=False, allow_null=True, help_text=ATTACHED
    )
    document_ids = Several(child=serializers.CharField(), max_length=MOST_NAMED, required=False, allow_null=True)

    # What the run is given besides the question, under these names.
    OPTIONS = (
        "task_id",
        "depth",
        "scenario",
        "provider",
        "model",
        "tier",
        "execution_mode",
        "show_plan",
        "budget",
        "attachment_ids",
        "document_ids",
    )

    def validate_tier(self, tier: str | None) -> str | None:
        if tier is None:
            return None
        try:
            return Tier(tier).value
        except ValueError:
            raise serializers.ValidationError(
                _("There is no tier '{tier}'. Use max, pro, flash or lite.").format(tier=tier[:40])
            ) from None

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        faults = {name: [fault] for name, fault in _query_faults(attrs).items() if fault}
        if faults:
            raise serializers.ValidationError(faults)
        return attrs

    def options(self) -> dict[str, Any]:
        given: dict[str, Any] = self.validated_data
        found = {name: given[name] for name in self.OPTIONS if name in given}
        if found.get("model") and not found.get("provider"):
            found["provider"] = provider_chosen_by(LLMSettings.from_env(os.environ), found["model"])
        return found


def _query_faults(attrs: dict[str, Any]) -> dict[str, str]:
    """What is wrong with values that are right by themselves; empty texts where nothing is."""
    faults = {}
    if attrs["project_id"] and attrs["conversation_id"]:
        faults["project_id"] = _("A conversation that exists has its project already. Leave one of the two out.")
    if attrs["temporary"] and attrs["conversation_id"]:
        faults["temporary"] = _("Only a new conversation can be temporary. Leave conversation_id or this out.")
    faults["messages"] = _history_fault(attrs["messages"] or [])
    return faults | _model_faults(attrs.get("provider"), attrs.get("model"))


def _history_fault(messages: Sequence[Mapping[str, str]]) -> str:
    told = sum(len(message["content"]) for message in messages)
    limit: int = settings.CONFIG.max_question_chars
    if told <= limit:
        return ""
    return _("The history has {told} characters; at most {limit} are allowed. Send less of it.").format(
        told=grouped(told), limit=grouped(limit)
    )


def _model_faults(provider: str | None, model: str | None) -> dict[str, str]:
    models = LLMSettings.from_env(os.environ)
    if provider is not None and (fault := provider_fault(models, provider)):
        return {"provider": fault}
    if model is not None:
        return {"model": model_fault(models, model, provider=provider)}
    return {}


class PromptSerializer(serializers.Serializer[Any]):
    """`prompt`, or `messages` as JSON text: the last of them is the question, those before it are the history."""

    prompt = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    messages = ToldInAddress(required=False)
    agentId = serializers.CharField(required=False, allow_blank=True)  # noqa: N815 - the older programs' word
    parentId = serializers.CharField(required=False, allow_blank=True)  # noqa: N815

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        faults = {name: [fault] for name, fault in _prompt_faults(attrs).items() if fault}
        if faults:
            raise serializers.ValidationError(faults)
        return attrs

    @property
    def question(self) -> str:
        given = self.validated_data
        return str(given["prompt"] if "prompt" in given else given["messages"][-1]["content"])

    @property
    def history(self) -> list[Said]:
        return list(self.validated_data.get("messages", ())[:-1])


def _prompt_faults(attrs: dict[str, Any]) -> dict[str, str]:
    """What is wrong with what an older program asks with; empty texts where nothing is."""
    messages = attrs.get("messages")
    unknown = _("Agents get their ids here. Leave it out, and read them from the stream.")
    faults: dict[str, str] = {name: unknown for name in ("agentId", "parentId") if name in attrs}
    if messages is None:
        return faults if "prompt" in attrs else {**faults, "prompt": _("Send a prompt, or messages.")}
    if "prompt" in attrs:
        faults["messages"] = _("Send either a prompt or messages.")
    elif not messages or messages[-1]["role"] != Role.USER:
        faults["messages"] = _("The last message has to be the user's: it is the question.")
    else:
        faults["messages"] = _history_fault(messages[:-1])
    return faults


class RetrySerializer(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField(required=False, allow_null=True, default=None)


class ForkSerializer(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    step = serializers.RegexField(r"^[0-9]{1,6}([.][0-9]{1,6}){0,20}$", help_text="Its path, such as 3.1.2.")
