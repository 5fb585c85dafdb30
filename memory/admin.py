"""Documents and files for administrators: what there is, and whose; what they say only with the permission for it."""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from hyperagent.lib.admin_values import ago
from hyperagent.lib.admin_values import state as word
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_id, link_to_list, table
from memory import admin_home as _home  # noqa: F401 (its panel)
from memory.kinds import ConnectorKind
from memory.models import Connector, ConnectorItem, Document, EmbeddingModel, Project, WorkspaceFile

VERSIONS_SHOWN = 50
HIDDEN_ADDRESS = _("(an address that cannot be read)")
# States that no column has.
ON, OFF = pgettext_lazy("choice", "on"), pgettext_lazy("choice", "off")


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    """A file's name says something, and an address may hold a password: they stand on the document's own page only,
    for whoever may read it."""

    list_display = ("id", "owner", "doc_type", "status", "visibility", "total_pages", "created_at")
    list_filter = ("status", "visibility", "origin")
    list_select_related = ("owner",)
    search_fields = ("id", "owner")
    search_help_text = _("The id of a document, or the beginning of its owner's e-mail address.")
    ordering = ("-created_at", "filename")
    content_fields = ("filename", "source_url", "title", "description")
    fields = (
        "id", "owner", "filename", "doc_type", "title", "description", "size_bytes", "origin", "source_url", "status",
        "reason", "note", "delay", "pages_read", "total_pages", "total_chunks", "chunks_embedded", "language", "date",
        "visibility", "created_at", "ready_at",
    )  # fmt: skip

    def owner_id(self, row: Any) -> Any:
        return row.owner_id


@admin.register(WorkspaceFile)
class WorkspaceFileAdmin(ReadOnlyAdmin):
    """A path says something: it stands on the file's own page only, for whoever may read it."""

    list_display = ("id", "scope", "belongs_to", "media_type", "size_bytes", "version", "changed_at", "deleted_at")
    list_filter = ("scope", ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = ("user", "project__owner")
    search_fields = ("id", "user", "project")
    search_help_text = _("The id of a file or a project, or the beginning of a person's e-mail address.")
    ordering = ("-changed_at", "id")
    content_fields = ("path",)
    fields = (
        "id", "scope", "scope_id", "belongs_to", "path", "media_type", "size_bytes", "sha256", "version", "made_by",
        "changed_at", "deleted_at", "its_versions",
    )  # fmt: skip
    readonly_fields = ("belongs_to", "its_versions")

    def owner_id(self, row: Any) -> Any:
        return row.user_id or row.project.owner_id

    @admin.display(description=_("Whose"))
    def belongs_to(self, row: WorkspaceFile) -> str:
        owner = row.user or (row.project.owner if row.project else None)
        return str(owner)

    @admin.display(description=_("Versions"))
    def its_versions(self, row: WorkspaceFile) -> SafeString:
        return table(
            (_("Number"), _("Bytes"), _("By"), _("Whose"), _("Run"), _("Written")),
            [
                (
                    kept.number,
                    kept.bytes.size_bytes,
                    kept.by,
                    kept.written_by or "",
                    link_to_id("agents_execution", kept.by_execution),
                    ago(kept.written_at),
                )
                for kept in row.versions.select_related("bytes", "written_by")[:VERSIONS_SHOWN]
            ],
        )


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "people", "created_at")
    list_select_related = ("owner",)
    ordering = ("id",)
    search_fields = ("id", "owner")
    search_help_text = _("The id of a project, or the beginning of its owner's e-mail address.")
    content_fields = ("name", "instructions")
    readonly_fields = ("people", "its_members")
    fields = ("id", "owner", "name", "instructions", "created_at", "its_members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        return super().get_queryset(request).defer("instructions").prefetch_related("members")

    def owner_id(self, row: Any) -> Any:
        return row.owner_id

    @admin.display(description=_("People"))
    def people(self, project: Project) -> int:
        return len(project.members.all())

    @admin.display(description=_("Members"))
    def its_members(self, project: Project) -> str:
        return ", ".join(str(person) for person in project.members.all()[:VERSIONS_SHOWN])


@admin.register(Connector)
class ConnectorAdmin(ReadOnlyAdmin):
    """Where it looks is its owner's own affair, and an address may hold a password: others see the host."""

    list_display = ("id", "kind", "host", "owner", "state", "every_s", "looked_at", "failures", "created_at")
    list_filter = ("kind", "is_on", "is_failing")
    list_select_related = ("owner",)
    ordering = ("-created_at", "id")
    search_fields = ("id", "owner")
    search_help_text = _("The id of a connector, or the beginning of its owner's e-mail address.")
    content_fields = ("shown_location", "result")
    readonly_fields = ("host", "state", "shown_location", "its_items")
    fields = (
        "id", "kind", "owner", "host", "shown_location", "state", "is_on", "is_failing", "failures", "result",
        "every_s", "pause_s", "looked_at", "round_began_at", "looking_until", "created_at", "its_items",
    )  # fmt: skip

    def owner_id(self, row: Any) -> Any:
        return row.owner_id

    @admin.display(description=_("Host"))
    def host(self, connector: Connector) -> str:
        return "" if connector.kind == ConnectorKind.FOLDER else host_of(connector.location)

    @admin.display(description=_("Location"))
    def shown_location(self, connector: Connector) -> str:
        return connector.location if connector.kind == ConnectorKind.FOLDER else without_secrets(connector.location)

    @admin.display(description=_("State"))
    def state(self, connector: Connector) -> SafeString | str:
        return word("failed" if connector.is_failing else "on" if connector.is_on else "off")

    @admin.display(description=_("Files and pages"))
    def its_items(self, connector: Connector) -> SafeString:
        return link_to_list(ConnectorItem, gettext("all of them"), connector__id__exact=connector.pk)


@admin.register(ConnectorItem)
class ConnectorItemAdmin(ReadOnlyAdmin):
    list_display = ("id", "its_connector", "its_document", "absences", "looked_at")
    list_select_related = ("connector", "document")
    ordering = ("-id",)
    search_fields = ("id", "connector", "document")
    search_help_text = _("The number of an item, or the id of a connector or a document.")
    content_fields = ("shown_place", "problem", "marks")
    readonly_fields = ("its_connector", "its_document", "shown_place")
    fields = (
        "id", "its_connector", "shown_place", "its_document", "problem", "marks", "digest", "absences", "looked_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConnectorItem]:
        return super().get_queryset(request).select_related("connector")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return lookup == "connector__id__exact" or super().lookup_allowed(lookup, value, request)

    def owner_id(self, row: Any) -> Any:
        return row.connector.owner_id

    @admin.display(description=_("Connector"))
    def its_connector(self, item: ConnectorItem) -> SafeString:
        return link_to(item.connector)

    @admin.display(description=_("Document"))
    def its_document(self, item: ConnectorItem) -> SafeString | str:
        return link_to(item.document, str(item.document_id)) if item.document else ""

    @admin.display(description=_("Place"))
    def shown_place(self, item: ConnectorItem) -> str:
        return without_secrets(item.place) if "://" in item.place else item.place


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnlyAdmin):
    list_display = ("name", "dimensions", "chosen_at", "problem")
    ordering = ("-chosen_at",)
    fields = ("name", "dimensions", "chosen_at", "problem")

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True


def host_of(address: str) -> str:
    """Without the name and the password that may stand before it."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def without_secrets(address: str) -> str:
    """An address without name, password and query, any of which may open a door."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return str(HIDDEN_ADDRESS)
    query = "…" if parts.query else ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))
