"""What the documents' endpoints take and give, for checking what comes in and for the API's description. Values:
`memory.shapes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.models import Group
from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hyperagent.lib.text import clean_text
from memory.actions.documents import groups_named
from memory.ingestion.names import LIMIT
from memory.kinds import BlockKind, DocumentStatus, Origin, Visibility

_WORDS: Final = {"private": Visibility.PRIVATE, "everyone": Visibility.EVERYONE}
MAX_GROUPS: Final = 50


class DocumentSerializer(serializers.Serializer[Any]):
    doc_id = serializers.UUIDField()
    filename = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    doc_type = serializers.CharField(allow_blank=True, help_text="By content: pdf, docx, md, png and so on.")
    status = serializers.ChoiceField(choices=[(status.value, status.name) for status in DocumentStatus])
    reason = serializers.CharField(allow_blank=True, help_text="Why it failed, or cannot be read just now.")
    note = serializers.CharField(allow_blank=True, help_text="What of it is missing though it can be used.")
    delay = serializers.CharField(
        allow_blank=True,
        help_text="Why it gets no vectors just now: a budget that is used up, a provider that is away.",
    )
    total_pages = serializers.IntegerField(help_text="0 until it is known.")
    pages_read = serializers.IntegerField()
    total_chunks = serializers.IntegerField()
    chunks_embedded = serializers.IntegerField()
    description = serializers.CharField(allow_blank=True)
    language = serializers.CharField(allow_blank=True, help_text="ISO 639-1.")
    date = serializers.DateField(allow_null=True, help_text="The document's own, not of the upload.")
    visibility = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in Visibility])
    groups = serializers.ListField(child=serializers.CharField(), help_text="Names; told to its owner only.")
    owner = serializers.CharField(help_text="Whose it is, a name to show.")
    is_owner = serializers.BooleanField(help_text="It is the caller's.")
    origin = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in Origin])
    source_url = serializers.CharField(allow_blank=True)
    size_bytes = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    ready_at = serializers.DateTimeField(allow_null=True)
    searchable = serializers.BooleanField(help_text="A search looks at it; at first by its words only.")
    is_picture = serializers.BooleanField(
        help_text="No text of it can be searched: its status becomes `failed`. Attached to a question it is looked at."
    )


class ChunkSerializer(serializers.Serializer[Any]):
    chunk_id = serializers.UUIDField()
    ordinal = serializers.IntegerField()
    parent_id = serializers.UUIDField(allow_null=True, help_text="The first chunk of its section; null for that one.")
    text = serializers.CharField()
    start = serializers.IntegerField(help_text="In the document's text: its pages' with an empty line between two.")
    end = serializers.IntegerField()
    page = serializers.IntegerField()
    last_page = serializers.IntegerField()
    section_title = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(choices=[(kind.value, kind.name) for kind in BlockKind])
    tokens = serializers.IntegerField()


class PageSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True)
    text = serializers.CharField()
    start = serializers.IntegerField(help_text="Where it begins in the document's text, in characters.")
    blocks = serializers.ListField(
        child=serializers.ListField(), help_text="[kind, level, start, end] in the page's own characters."
    )


class PagesSerializer(serializers.Serializer[Any]):
    total_pages = serializers.IntegerField()
    pages_read = serializers.IntegerField()
    next_from = serializers.IntegerField(allow_null=True, help_text="The next `from`; null after the last page.")
    results = PageSerializer(many=True)


class PagesQuerySerializer(serializers.Serializer[Any]):
    def get_fields(self) -> dict[str, Any]:
        # `from` cannot be a name in Python.
        return {
            "from": serializers.IntegerField(default=1, min_value=1, max_value=10**9),
            "count": serializers.IntegerField(default=10, min_value=1, max_value=50),
        }


class ImageQuerySerializer(serializers.Serializer[Any]):
    width = serializers.IntegerField(default=1000, min_value=100, max_value=2000, help_text="Pixels, about.")


@dataclass(frozen=True, slots=True)
class SharedWith:
    visibility: Visibility
    groups: Sequence[Group] = ()


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
class SharedWithField(serializers.Field[SharedWith, Any, Any, Any]):
    """`private`, `everyone`, or names of groups: one string with commas between, or a list."""

    def get_value(self, dictionary: Any) -> Any:
        """In a form a list is several parts of this name, of which the last alone would be read."""
        parts = dictionary.getlist(self.field_name or "") if isinstance(dictionary, QueryDict) else []
        return parts if len(parts) > 1 else super().get_value(dictionary)

    def to_internal_value(self, data: Any) -> SharedWith:
        names = data if isinstance(data, list) else data.split(",") if isinstance(data, str) else None
        if names is None or not all(isinstance(name, str) for name in names):
            raise serializers.ValidationError("Use `private`, `everyone`, or the names of groups.")
        given = [clean_text(name).strip() for name in names if name.strip()]
        if len(given) > MAX_GROUPS:
            raise serializers.ValidationError(f"A document can be shared with {MAX_GROUPS} groups at most.")
        if not given:
            return SharedWith(Visibility.PRIVATE)
        if len(given) == 1 and given[0] in _WORDS:
            return SharedWith(_WORDS[given[0]])
        return SharedWith(Visibility.GROUPS, groups_named(given))

    def to_representation(self, value: SharedWith) -> Any:
        return str(value.visibility)


class UploadSerializer(serializers.Serializer[Any]):
    file = serializers.FileField(allow_empty_file=True, max_length=None)
    title = serializers.CharField(required=False, allow_blank=True, max_length=LIMIT)
    shared_with = SharedWithField(required=False, help_text="Left out: `private`.")


class DocumentChangeSerializer(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    title = serializers.CharField(required=False, allow_blank=True, max_length=LIMIT)
    shared_with = SharedWithField(required=False)
