"""Documents and files for administrators: what there is, and whose; what they say only with the permission for it."""

from typing import Any

from django.contrib import admin
from django.utils.safestring import SafeString

from hyperagent.lib.read_only_admin import ReadOnlyAdmin, table
from memory.models import Document, WorkspaceFile


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


@admin.register(WorkspaceFile)
class WorkspaceFileAdmin(ReadOnlyAdmin):
    """A path says something: it stands on the file's own page only, for whoever may read it."""

    list_display = ("id", "scope", "belongs_to", "media_type", "size_bytes", "version", "changed_at", "deleted_at")
    list_filter = ("scope", "media_type")
    list_select_related = ("user", "project__owner")
    search_fields = ("=id", "=scope_id", "user__email", "project__owner__email")
    ordering = ("-changed_at",)
    content_fields = ("path",)
    fields = (
        "id", "scope", "scope_id", "belongs_to", "path", "media_type", "size_bytes", "sha256", "version", "made_by",
        "changed_at", "deleted_at", "its_versions",
    )  # fmt: skip
    readonly_fields = ("belongs_to", "its_versions")

    def owner_id(self, row: Any) -> Any:
        return row.user_id or row.project.owner_id

    @admin.display(description="Whose")
    def belongs_to(self, row: WorkspaceFile) -> str:
        owner = row.user or (row.project.owner if row.project else None)
        return str(owner)

    @admin.display(description="Versions")
    def its_versions(self, row: WorkspaceFile) -> SafeString:
        return table(
            ("Number", "Bytes", "By", "Whose", "Run", "Written"),
            [
                (kept.number, kept.bytes.size_bytes, kept.by, kept.written_by, kept.by_execution, kept.written_at)
                for kept in row.versions.select_related("bytes", "written_by")
            ],
        )
