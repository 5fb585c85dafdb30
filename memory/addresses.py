"""What addresses of files have in common, on pages and in the API."""

from django.urls import register_converter
from django.urls.converters import StringConverter

from memory.kinds import WorkspaceScope


class ScopeConverter(StringConverter):
    regex = "|".join(scope.value for scope in WorkspaceScope)


register_converter(ScopeConverter, "workspace_scope")
