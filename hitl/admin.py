"""Requests in the admin, for looking only: who was asked what, and what became of it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from hitl.models import Request
from hyperagent.lib.read_only_admin import ReadOnlyAdmin


@admin.register(Request)
class RequestAdmin(ReadOnlyAdmin):
    list_display = ("kind", "status", "agent_name", "user", "created_at", "responded_at", "run")
    list_filter = ("status", "kind")
    list_select_related = ("user",)
    ordering = ("-created_at", "request_id")
    search_fields = ("=request_id", "=execution_id", "=conversation_id")
    search_help_text = "The id of a request, a run or a conversation."
    content_fields = ("question", "task_description", "tool_names", "answer", "user_instructions")
    readonly_fields = ("run",)
    fields = (
        "request_id", "kind", "status", "user", "run", "conversation_id", "agent_id", "agent_name", "question",
        "task_description", "tool_names", "answer", "user_instructions", "decided_by", "created_at", "expires_at",
        "responded_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Request]:
        rows: QuerySet[Request] = super().get_queryset(request)
        return rows.defer("question", "answer")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return super().get_search_results(request, queryset, search_term.strip().replace("\x00", ""))

    @admin.display(description="Execution")
    def run(self, request: Request) -> Any:
        # The run is named, not imported: `agents` stands above.
        return format_html('<a href="/admin/agents/execution/{}/change/">{}</a>', *[request.execution_id] * 2)
