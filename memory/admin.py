"""Documents for administrators: what there is, and whose; what they say only with the permission for it."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from hyperagent.lib.read_only_admin import ReadOnlyAdmin
from memory.models import Document


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = ("filename", "owner", "doc_type", "is_sample", "created_at")
    list_select_related = ("owner",)
    ordering = ("-created_at", "filename")
    content_fields = ("title", "text")
    fields = ("id", "owner", "filename", "doc_type", "title", "text", "is_sample", "created_at")

    def owner_id(self, row: Any) -> Any:
        return row.owner_id

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("text")
