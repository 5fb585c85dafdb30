"""Servers of the Model Context Protocol and their tools, in the admin, for looking only: they are connected and
reviewed on their own page. Of other people's servers the host alone is shown: the rest of an address may be a secret.
"""

from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agents.mcp.models import McpServer, McpTool
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_list


@admin.register(McpServer)
class McpServerAdmin(ReadOnlyAdmin):
    list_display = ("name", "whose", "kind", "host", "state", "enabled", "listed_at", "created_at")
    list_filter = ("state", "kind", "enabled")
    list_select_related = ("owner",)
    ordering = ("name", "id")
    search_fields = ("id", "name", "owner")
    search_help_text = _("The id or the name of a server, or the beginning of its owner's e-mail address.")
    content_fields = ("url", "command", "args", "last_error")
    readonly_fields = ("whose", "host", "its_tools")
    fields = (
        "id", "name", "whose", "kind", "host", "url", "command", "args", "folder", "is_inner", "secret_names", "agents",
        "enabled", "state", "last_error", "listed_at", "made_by", "created_at", "its_tools",
    )  # fmt: skip

    def owner_id(self, row: Any) -> Any:
        return row.owner_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return (row is not None and not row.is_own) or super().may_read(request, row)

    @admin.display(description=_("Whose"))
    def whose(self, server: McpServer) -> str:
        return str(server.owner or gettext("the installation's"))

    @admin.display(description=_("Host"))
    def host(self, server: McpServer) -> str:
        return host_of(server.url)

    @admin.display(description=_("Tools"))
    def its_tools(self, server: McpServer) -> SafeString:
        return link_to_list(McpTool, gettext("all tools"), server__id__exact=server.pk)


def host_of(url: str) -> str:
    """Without the user name and password that may stand before it."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""


@admin.register(McpTool)
class McpToolAdmin(ReadOnlyAdmin):
    list_display = ("called", "its_server", "risk", "requires_approval", "allowed", "standing", "found_at", "gone_at")
    list_filter = ("allowed", "risk", ("gone_at", admin.EmptyFieldListFilter))
    list_select_related = ("server__owner", "reviewed_by")
    ordering = ("called", "id")
    search_fields = ("id", "called", "server")
    search_help_text = _("The id or the name of a tool, or the id of its server.")
    content_fields = ("definition", "reviewed_definition")
    readonly_fields = ("its_server", "standing")
    fields = (
        "id", "its_server", "called", "name", "standing", "risk", "requires_approval", "allowed", "definition", "pin",
        "reviewed_definition", "reviewed_pin", "reviewed_by", "reviewed_at", "found_at", "gone_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpTool]:
        return super().get_queryset(request).select_related("server__owner")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return lookup == "server__id__exact" or super().lookup_allowed(lookup, value, request)

    def owner_id(self, row: Any) -> Any:
        return row.server.owner_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return (row is not None and not row.server.is_own) or super().may_read(request, row)

    @admin.display(description=_("Server"))
    def its_server(self, tool: McpTool) -> SafeString:
        return link_to(tool.server)

    @admin.display(description=_("As reviewed"))
    def standing(self, tool: McpTool) -> str:
        if not tool.reviewed_pin:
            return gettext("never reviewed")
        return gettext("changed since") if tool.is_changed else gettext("yes")
