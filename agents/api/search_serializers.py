"""The shapes of `POST /api/v1/search`, for checking what comes in and for the API's description."""

from typing import Any, Final

from django.utils.translation import gettext_lazy
from rest_framework import serializers

from hyperagent.lib.api import KnownNames, NullIsLeftOut, OneOf, Several
from memory.values import Mode

MOST: Final = 50
MOST_DOCUMENTS: Final = 200
_ALSO: Final = {"topic": ("section_title",), "date": ("date_from", "date_to")}


class FiltersSerializer(KnownNames, NullIsLeftOut):
    doc_type = serializers.CharField(max_length=16, required=False, allow_blank=True, help_text="pdf, docx, md, …")
    filename = serializers.CharField(max_length=255, required=False, allow_blank=True, help_text="A part of it.")
    section_title = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text="Words of the headings above a passage."
    )
    topic = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text="Another name of `section_title`."
    )
    date_from = serializers.DateField(required=False, allow_null=True)
    date_to = serializers.DateField(required=False, allow_null=True)
    date = serializers.DateField(required=False, allow_null=True, help_text="`date_from` and `date_to` in one.")

    no_such = gettext_lazy("There is no such filter. Use {known}.")

    def validate_doc_type(self, value: str) -> str:
        return value.strip().lower().lstrip(".")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """With one name for each."""
        for name, meant in _ALSO.items():
            value = attrs.pop(name, None)
            if not value:
                continue
            if twice := [other for other in meant if attrs.get(other)]:
                raise serializers.ValidationError({name: [f"Give this or {' and '.join(twice)}, not both."]})
            attrs |= dict.fromkeys(meant, value)
        first, last = attrs.get("date_from"), attrs.get("date_to")
        if first and last and first > last:
            said = f"{first} is after date_to, {last}: no document is within."
            raise serializers.ValidationError({"date_from": [said]})
        return attrs


class SearchSerializer(NullIsLeftOut):
    query = serializers.CharField(max_length=2_000)
    top_k = serializers.IntegerField(min_value=1, max_value=MOST, default=8)
    document_ids = Several(
        child=serializers.UUIDField(), max_length=MOST_DOCUMENTS, default=list, help_text="Only in these; none: in all."
    )
    filters = FiltersSerializer(default=dict)
    mode = OneOf(Mode, default=Mode.HYBRID.value)
    rerank = serializers.BooleanField(default=False, help_text="Have a model put the best passages in order.")
    explain = serializers.BooleanField(default=False, help_text="With what each stage of the search returned, and why.")


class PassageMetadataSerializer(serializers.Serializer[Any]):
    filename = serializers.CharField()
    page = serializers.IntegerField()
    last_page = serializers.IntegerField()
    section_title = serializers.CharField(allow_null=True)
    doc_type = serializers.CharField(allow_null=True)
    date = serializers.DateField(allow_null=True)


class PassageSerializer(serializers.Serializer[Any]):
    chunk_id = serializers.UUIDField()
    doc_id = serializers.UUIDField()
    score = serializers.FloatField(help_text="0..1, higher is closer.")
    text = serializers.CharField()
    start = serializers.IntegerField(help_text="Its place in the document's text, in characters.")
    end = serializers.IntegerField()
    metadata = PassageMetadataSerializer()
    why = serializers.DictField(required=False, help_text="With `explain`: by leg, its rank and raw score.")


class PassageSourceSerializer(serializers.Serializer[Any]):
    type = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    page = serializers.IntegerField()
    section = serializers.CharField(allow_blank=True)
    document_id = serializers.UUIDField()
    chunk_id = serializers.UUIDField()
    score = serializers.FloatField()


class FoundSerializer(serializers.Serializer[Any]):
    chunks = PassageSerializer(many=True)
    sources = PassageSourceSerializer(many=True)
    confidence = serializers.FloatField(help_text="0..1: the mean score.")
    note = serializers.CharField(allow_blank=True, help_text="What the search had to do without.")
    trace = serializers.DictField(required=False, help_text="With `explain`.")
