"""Documents for administrators: what there is, and whose; what they say only with the permission for it."""

from typing import Any

from django.contrib import admin

from hyperagent.lib.read_only_admin import ReadOnlyAdmin
from memory.models import Document


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = ("filename", "owner", "doc_type", "status", "visibility", "total_pages", "created_at")
    list_filter = ("status", "doc_type", "visibility", "origin")
    list_select_related = ("owner",)
    search_fields = ("filename", "owner__email")
    ordering = ("-created_at", "filename")
    content_fields = ("title", "description")
    fields = (
        "id", "owner", "filename", "doc_type", "title", "description", "size_bytes", "origin", "source_url", "status",
        "reason", "note", "pages_read", "total_pages", "total_chunks", "chunks_embedded", "language", "date",
        "visibility", "created_at", "ready_at",
    )  # fmt: skip

    def owner_id(self, row: Any) -> Any:
        return row.owner_id
