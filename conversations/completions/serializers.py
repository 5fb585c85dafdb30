"""How OpenAI's shapes are described. Values: `conversations.completions.responses`; what comes in: `requests`."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers

from agents.api.serializers import SkippedSerializer, SourceSerializer


class ServedModelSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="`hyperagent`, or `hyperagent/<mode>`.")
    object = serializers.ChoiceField(choices=["model"])
    created = serializers.IntegerField()
    owned_by = serializers.CharField()


class ServedModelsSerializer(serializers.Serializer[Any]):
    object = serializers.ChoiceField(choices=["list"])
    data = ServedModelSerializer(many=True)  # type: ignore[assignment]


class CompletionErrorDetailSerializer(serializers.Serializer[Any]):
    message = serializers.CharField()
    type = serializers.CharField(help_text="Such as invalid_request_error.")
    param = serializers.CharField(allow_null=True, help_text="Where the fault is, such as messages.2.content.")
    code = serializers.CharField(allow_null=True)


class CompletionErrorSerializer(serializers.Serializer[Any]):
    error = CompletionErrorDetailSerializer()


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}], "nullable": True})
class _ContentField(serializers.JSONField):
    """Text, or parts with text."""


class CompletionAskedSerializer(serializers.Serializer[Any]):
    role = serializers.CharField(help_text="system, developer, user, assistant, tool or function")
    content = _ContentField(required=False, allow_null=True, help_text="Text, or parts of the type text.")


class CompletionStreamOptionsSerializer(serializers.Serializer[Any]):
    include_usage = serializers.BooleanField(required=False, default=False)


class CompletionRequestSerializer(serializers.Serializer[Any]):
    """Of OpenAI's other fields those that cannot be heeded are named in `hyperagent.warnings` of the answer."""

    model = serializers.CharField(help_text="`hyperagent` chooses who answers; `hyperagent/<mode>` names the mode.")
    messages = CompletionAskedSerializer(many=True, help_text="The last one is the user's: it is what is answered.")
    stream = serializers.BooleanField(required=False, allow_null=True, default=False)
    stream_options = CompletionStreamOptionsSerializer(required=False, allow_null=True)
    n = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=1)
    user = serializers.CharField(
        required=False, allow_null=True, help_text="The program's own name of a conversation, which then goes on."
    )
    metadata = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        allow_null=True,
        help_text="`conversation_id`: of a conversation here. `document_ids`: of documents, with commas between them.",
    )


class CompletionMessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField(help_text="assistant")
    content = serializers.CharField()
    refusal = serializers.CharField(allow_null=True)
    annotations = serializers.ListField(child=serializers.DictField(), help_text="A url_citation for each place.")


class CompletionChoiceSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    message = CompletionMessageSerializer()
    logprobs = serializers.JSONField(allow_null=True)
    finish_reason = serializers.ChoiceField(
        choices=["stop", "length"], help_text="length: the answer breaks off, as it had become as long as it may be."
    )


class CompletionUsageSerializer(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True, help_text="null: a model without a known price took part.")


class CompletionOwnSerializer(serializers.Serializer[Any]):
    execution_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    status = serializers.CharField()
    sources = SourceSerializer(many=True)
    skipped = SkippedSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What of the request is not heeded.")


class CompletionSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["chat.completion"])
    created = serializers.IntegerField()
    model = serializers.CharField()
    choices = CompletionChoiceSerializer(many=True)
    usage = CompletionUsageSerializer()
    hyperagent = CompletionOwnSerializer(help_text="What OpenAI has no words for.")


STREAM = OpenApiResponse(OpenApiTypes.STR, description="Chunks as OpenAI's, with `stream`; the last one is [DONE].")
