"""What the endpoints of workspaces take and give, for checking what comes in and for the API's description."""

from typing import Any

from rest_framework import serializers

from hyperagent.lib.api import ListSerializer
from hyperagent.lib.times import iso
from memory.models import WorkspaceFile
from memory.workspaces.files import FileFacts, VersionFacts, mark_of
from memory.workspaces.overview import Overview
from memory.workspaces.paths import LIMIT
from memory.workspaces.places import Place, Scope, file_url

Json = dict[str, Any]


class FileSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    media_type = serializers.CharField(help_text="What its name says that it is.")
    version = serializers.IntegerField(help_text="From 1; for If-Match, if no other file came to this path.")
    sha256 = serializers.CharField()
    etag = serializers.CharField(help_text="Of this version; for If-Match.")
    changed_at = serializers.DateTimeField()
    url = serializers.CharField(help_text="Of its bytes.")


class VersionSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    size_bytes = serializers.IntegerField()
    media_type = serializers.CharField()
    sha256 = serializers.CharField()
    by = serializers.CharField(allow_blank=True, help_text="The agent or program that wrote it; empty: the person.")
    execution_id = serializers.UUIDField(allow_null=True, help_text="In which run.")
    written_by = serializers.CharField(allow_blank=True, help_text="The person, or whose run it was.")
    written_at = serializers.DateTimeField()


class VersionsSerializer(ListSerializer):
    results = VersionSerializer(many=True)


class PlaceSerializer(serializers.Serializer[Any]):
    scope = serializers.ChoiceField(choices=[(scope.value, scope.name) for scope in Scope])
    scope_id = serializers.UUIDField()
    name = serializers.CharField()
    files = serializers.IntegerField()
    size_bytes = serializers.IntegerField(help_text="Of the files as they stand.")
    used_bytes = serializers.IntegerField(help_text="Of the quota that they count for, with versions.")
    quota_bytes = serializers.IntegerField()


class PlacesSerializer(ListSerializer):
    results = PlaceSerializer(many=True)


class FileListQuerySerializer(serializers.Serializer[Any]):
    deleted = serializers.BooleanField(required=False, default=False, help_text="Those that can be put back.")


class FileQuerySerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False, default=None)
    inline = serializers.BooleanField(required=False, default=False)
    page = serializers.IntegerField(min_value=1, max_value=100_000, required=False, default=None)
    width = serializers.IntegerField(default=800, min_value=100, max_value=2000)


class RestoreSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class MoveSerializer(serializers.Serializer[Any]):
    to = serializers.CharField(max_length=4 * LIMIT, trim_whitespace=False, help_text="The new path.")


def etag_of(file: FileFacts | WorkspaceFile) -> str:
    """As it stands in headers."""
    return f'"{mark_of(file)}"'


def file_shape(place: Place, file: FileFacts | WorkspaceFile) -> Json:
    return {
        "path": file.path,
        "size_bytes": file.size_bytes,
        "media_type": file.media_type,
        "version": file.version,
        "sha256": file.sha256,
        "etag": etag_of(file),
        "changed_at": iso(file.changed_at),
        "url": file_url(place, file.path),
    }


def version_shape(version: VersionFacts) -> Json:
    return {
        "number": version.number,
        "size_bytes": version.size_bytes,
        "media_type": version.media_type,
        "sha256": version.sha256,
        "by": version.by,
        "execution_id": str(version.by_execution) if version.by_execution else None,
        "written_by": version.written_by,
        "written_at": iso(version.written_at),
    }


def place_shape(found: Overview) -> Json:
    return {
        "scope": str(found.place.scope),
        "scope_id": str(found.place.scope_id),
        "name": found.name,
        "files": found.files,
        "size_bytes": found.size_bytes,
        "used_bytes": found.used_bytes,
        "quota_bytes": found.quota_bytes,
    }
