"""What the memories' endpoints take and give. Values come from `memory.remembering.shapes`; rules are in actions."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from memory.kinds import MemoryKind, MemoryStatus, ProfileField

_FIELDS = [field.value for field in ProfileField]


class CriticalSerializer(serializers.Serializer[Any]):
    user_name = serializers.CharField(required=False)
    company_name = serializers.CharField(required=False)
    job_title = serializers.CharField(required=False)
    recent_projects = serializers.ListField(child=serializers.CharField(), required=False)


class PreferencesSerializer(serializers.Serializer[Any]):
    tone = serializers.CharField(required=False)
    detail_level = serializers.CharField(required=False)
    language = serializers.CharField(required=False)


class MemorySourceSerializer(serializers.Serializer[Any]):
    conversation_id = serializers.UUIDField(allow_null=True)
    execution_id = serializers.UUIDField(allow_null=True)
    turn = serializers.CharField(allow_null=True, help_text="The message's id, or what an import calls it.")
    excerpt = serializers.CharField()
    said_at = serializers.DateTimeField()


class MemoryUseSerializer(serializers.Serializer[Any]):
    execution_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField(allow_null=True)
    why = serializers.CharField()
    score = serializers.FloatField()
    at = serializers.DateTimeField()


class PastMemorySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    text = serializers.CharField()
    said_at = serializers.DateTimeField()
    reason = serializers.CharField()


class MemorySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=[kind.value for kind in MemoryKind])
    field = serializers.ChoiceField(choices=_FIELDS, allow_null=True)
    text = serializers.CharField()
    status = serializers.ChoiceField(choices=[MemoryStatus.ACTIVE.value, MemoryStatus.QUARANTINED.value])
    reason = serializers.CharField(help_text="Why it is quarantined.")
    pinned = serializers.BooleanField()
    corrected_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    source = MemorySourceSerializer()  # type: ignore[assignment]
    times_used = serializers.IntegerField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    uses = MemoryUseSerializer(many=True, help_text="The newest ten.")
    history = PastMemorySerializer(many=True, help_text="What it took the place of, newest first.")


class MemoriesSerializer(serializers.Serializer[Any]):
    on = serializers.BooleanField()
    critical = CriticalSerializer()
    preferences = PreferencesSerializer()
    memories = MemorySerializer(many=True)


class SwitchSerializer(serializers.Serializer[Any]):
    on = serializers.BooleanField()


class MemoryChangeSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(required=False, allow_blank=True, help_text="Corrects it.")
    pinned = serializers.BooleanField(required=False)
    status = serializers.ChoiceField(
        choices=[MemoryStatus.ACTIVE.value], required=False, help_text="Out of quarantine: it is meant."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"text": [_("Give a text, pinned or status.")]})
        return attrs


class ForgottenSerializer(serializers.Serializer[Any]):
    forgotten = serializers.IntegerField()
