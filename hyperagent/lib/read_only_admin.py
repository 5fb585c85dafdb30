"""Admin pages that only show: fast on large tables, and without what people said unless the reader may see that."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.paginator import Paginator
from django.db import connection, models
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

VIEW_CONTENT = "agents.view_content"
HIDDEN = "(hidden: this is somebody else's. It takes the permission “Can read what other people's runs say”.)"
EXACT_UP_TO = 2_000


class EstimatingPaginator(Paginator):  # type: ignore[type-arg]
    """Counting 100,000 rows for a page number would cost more than the page: large tables are estimated."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        assert isinstance(rows, models.QuerySet)
        some = rows.order_by()[: EXACT_UP_TO + 1].count()
        if some <= EXACT_UP_TO or rows.query.where:
            return int(some)
        with connection.cursor() as cursor:
            cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [rows.model._meta.db_table])
            return max(some, int(cursor.fetchone()[0]))


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """For every administrator to look at; nobody adds, changes or deletes here."""

    paginator = EstimatingPaginator
    show_full_result_count = False
    list_per_page = 50
    actions: tuple[str, ...] | None = None
    # Fields that people or models wrote, shown to their owner and to whoever has the permission.
    content_fields: tuple[str, ...] = ()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def owner_id(self, row: Any) -> Any:
        """Whose content it is."""
        return row.user_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return row is not None and (self.owner_id(row) == request.user.pk or request.user.has_perm(VIEW_CONTENT))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Where the content may not be read, a note stands in its place."""
        fields = list(super().get_fields(request, obj))
        if self.may_read(request, obj):
            return fields
        kept = [name for name in fields if name not in self.content_fields]
        return [*kept, "content_is_hidden"] if len(kept) < len(fields) else kept

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*super().get_readonly_fields(request, obj), "content_is_hidden"]

    @admin.display(description="Content")
    def content_is_hidden(self, row: Any) -> str:
        return HIDDEN


def link_to_list(model: type[models.Model], text: str, **lookups: Any) -> SafeString:
    return format_html('<a href="{}?{}">{}</a>', _address(model, "changelist"), urlencode(lookups), text)


def link_to(row: models.Model, text: str | None = None) -> SafeString:
    return format_html('<a href="{}">{}</a>', _address(type(row), "change", row.pk), text or str(row))


def _address(model: type[models.Model], page: str, *args: Any) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)


def table(headings: tuple[str, ...], rows: list[tuple[Any, ...]], more: SafeString | str = "") -> SafeString:
    """A small table for a read-only page; every cell is escaped."""
    head = format_html_join("", "<th>{}</th>", ((heading,) for heading in headings))
    cells = (format_html_join("", "<td>{}</td>", ((cell,) for cell in row)) for row in rows)
    body = format_html_join("", "<tr>{}</tr>", ((row,) for row in cells))
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}", head, body, more)
