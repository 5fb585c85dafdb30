"""What the memories' endpoints take and give. Values come from `memory.remembering.shapes`; rules are in actions."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from hyperagent.lib.api import KnownNames, Several
from hyperagent.lib.clipping import one_line
from memory.kinds import MemoryKind, MemoryStatus, ProfileField
from memory.remembering.profile import PROJECTS
from memory.remembering.storing_rules import VALUE_CHARS

_FIELDS = [field.value for field in ProfileField]


class CriticalSerializer(serializers.Serializer[Any]):
    user_name = serializers.CharField(allow_null=True)
    company_name = serializers.CharField(allow_null=True)
    job_title = serializers.CharField(allow_null=True)
    recent_projects = serializers.ListField(child=serializers.CharField(), help_text="Newest first.")


class PreferencesSerializer(serializers.Serializer[Any]):
    tone = serializers.CharField(allow_null=True)
    detail_level = serializers.CharField(allow_null=True)
    language = serializers.CharField(allow_null=True)


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


class _ValueField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_null=True, allow_blank=True, max_length=VALUE_CHARS, **options)

    def to_internal_value(self, data: Any) -> str:
        return one_line(super().to_internal_value(data))


class CriticalChangeSerializer(KnownNames):
    user_name = _ValueField()
    company_name = _ValueField()
    job_title = _ValueField()
    recent_projects = Several(child=_ValueField(), required=False, allow_null=True, max_length=PROJECTS)


class PreferencesChangeSerializer(KnownNames):
    tone = _ValueField()
    detail_level = _ValueField()
    language = _ValueField()


class MemoriesChangeSerializer(KnownNames):
    """Of the profile only what is named changes; null, or an empty text, forgets it."""

    on = serializers.BooleanField(required=False)
    critical = CriticalChangeSerializer(required=False)
    preferences = PreferencesChangeSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"on": [_("Give on, critical or preferences.")]})
        return attrs

    @property
    def profile(self) -> dict[ProfileField, list[str]]:
        """The fields that were named, each with its values; with none where it is to be forgotten."""
        given: dict[str, Any] = self.validated_data
        named = {**given.get("critical", {}), **given.get("preferences", {})}
        return {ProfileField(name): _values(value) for name, value in named.items()}


def _values(given: str | list[str] | None) -> list[str]:
    values = given if isinstance(given, list) else [given or ""]
    return [value for value in values if value]


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
