"""The audit: whatever became of every request, to search and to take away as CSV or JSON. Nothing can be changed."""

import csv
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import structlog
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.urls import URLPattern, path
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from hitl.admin.access import ForAuditors, reads_all
from hitl.models import Decision, Request
from hyperagent.lib import looks
from hyperagent.lib.admin_lists import as_uuid, people_called
from hyperagent.lib.admin_values import end_of_id
from hyperagent.lib.labels import said
from hyperagent.lib.languages import grouped
from hyperagent.lib.read_only_admin import link_to
from hyperagent.lib.threads import in_thread
from hyperagent.lib.times import iso

log = structlog.get_logger(__name__)

COLUMNS = (
    "id", "at", "happening", "actor", "actor_name", "via", "note", "details", "request_id", "kind", "risk",
    "execution_id", "conversation_id", "agent_name", "tool_names", "user", "arguments_hash",
)  # fmt: skip
CONTENT = ("note", "details")
# What a spreadsheet would take for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
READ_AT_ONCE = 500
NEWEST_SEARCHED = 20_000
Rows = list[dict[str, Any]]


class Echo:
    """A file for the csv module that gives back what is written."""

    def write(self, text: str) -> str:
        return text


@admin.register(Decision)
class DecisionAdmin(ForAuditors):
    change_list_template = "admin/hitl/decision/change_list.html"
    list_display = ("at", "happening", "actor_name", "via", "kind", "agent", "tools", "whose", "asked")
    # Not by kind and risk: those are the request's, whose own list has them.
    list_filter = ("happening", "via", "at")
    list_select_related = ("request__user",)
    sortable_by = ("at",)
    ordering = ("-at", "-id")
    date_hierarchy = "at"
    search_fields = ("request", "actor")
    search_help_text = format_lazy(
        _(
            "The id of a request, a run, a conversation or a person, the beginning of an e-mail address, or, among the"
            " newest {count} requests, the name of a tool or an agent."
        ),
        count=lazy(grouped, str)(NEWEST_SEARCHED),
    )
    content_fields = CONTENT
    readonly_fields = ("asked",)
    fields = ("at", "happening", "actor", "actor_name", "via", "asked", "note", "details")

    def owner_id(self, row: Any) -> Any:
        return row.request.user_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return row is not None and (reads_all(request) or super().may_read(request, row))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """A union, for one condition over two tables would read both from end to end."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        theirs = Decision.objects.filter(actor__in=people_called(term)).order_by().values("pk")
        about = Decision.objects.filter(request__in=requests_about(term)).order_by().values("pk")
        return queryset.filter(pk__in=theirs.union(about)), False

    def get_urls(self) -> list[URLPattern]:
        export = self.admin_site.admin_view(self.export)
        return [path("export.<str:form>", export, name="hitl_decision_export"), *super().get_urls()]

    def export(self, request: HttpRequest, form: str) -> HttpResponseBase:
        """What the list shows with these filters, whole and in its order."""
        if not self.has_view_permission(request) or form not in ("csv", "json"):
            raise PermissionDenied
        numbers = list(self.get_changelist_instance(request).get_queryset(request).values_list("pk", flat=True))

        def read(some: Sequence[int]) -> Rows:
            found = Decision.objects.select_related("request", "request__user").in_bulk(some)
            rows = [found[number] for number in some if number in found]
            return [as_row(one, with_content=self.may_read(request, one)) for one in rows]

        lots = _lots(numbers, read)
        if reads_all(request):
            looks.note(request.user, [Decision()], looks.EXPORTED)
        log.info("audit.exported", by=str(request.user.pk), form=form, filters=request.GET.urlencode()[:500])
        written, kind = (as_csv(lots), "text/csv") if form == "csv" else (as_json(lots), "application/json")
        response = StreamingHttpResponse(written, content_type=f"{kind}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="decisions.{form}"'
        return response

    @admin.display(description=_("Kind"))
    def kind(self, row: Decision) -> str:
        return said(row.request.kind)

    @admin.display(description=_("Agent"))
    def agent(self, row: Decision) -> str:
        return row.request.agent_name

    @admin.display(description=_("Tools"))
    def tools(self, row: Decision) -> str:
        return ", ".join(row.request.tool_names)

    @admin.display(description=_("Whose run"))
    def whose(self, row: Decision) -> str:
        return str(row.request.user or "—")

    @admin.display(description=_("Request"))
    def asked(self, row: Decision) -> Any:
        return format_html("{}", link_to(row.request, end_of_id(row.request_id)))


def requests_about(term: str) -> QuerySet[Request]:
    """Ids and people by their indexes. Names of tools and agents have none, so the newest are looked through."""
    id_ = as_uuid(term)
    people = Q(user__in=people_called(term))
    if id_:
        found = Q(request_id=id_) | Q(execution_id=id_) | Q(conversation_id=id_) | people
        return Request.objects.filter(found).order_by().values("pk")  # type: ignore[return-value]
    if "@" in term:
        return Request.objects.filter(people).order_by().values("pk")  # type: ignore[return-value]
    newest = Request.objects.order_by("-created_at", "request_id").values("pk")[:NEWEST_SEARCHED]
    named = Q(tool_names__contains=[term]) | Q(agent_name=term)
    return Request.objects.filter(people | (Q(pk__in=newest) & named)).order_by().values("pk")  # type: ignore[return-value]


def as_row(one: Decision, *, with_content: bool) -> dict[str, Any]:
    """One line of the audit. Without content, what people said stands as null."""
    request = one.request
    values = (
        one.pk, iso(one.at), one.happening, str(one.actor_id) if one.actor_id else None, one.actor_name, one.via,
        one.note, one.details, str(one.request_id), request.kind, request.risk, str(request.execution_id),
        str(request.conversation_id) if request.conversation_id else None, request.agent_name, request.tool_names,
        request.user.email if request.user else None, request.arguments_hash,
    )  # fmt: skip
    row = dict(zip(COLUMNS, values, strict=True))
    return row if with_content else {**row, **dict.fromkeys(CONTENT)}


async def _lots(numbers: Sequence[int], read: Callable[[Sequence[int]], Rows]) -> AsyncIterator[Rows]:
    """Their rows, some at a time. Not by one iterator over all: what is no coroutine is read to its end before the
    first byte is sent."""
    for start in range(0, len(numbers), READ_AT_ONCE):
        yield await in_thread(read)(numbers[start : start + READ_AT_ONCE])


async def as_csv(lots: AsyncIterator[Rows]) -> AsyncIterator[str]:
    writer = csv.writer(Echo())
    yield writer.writerow(COLUMNS)
    async for rows in lots:
        yield "".join(writer.writerow([_cell(row[name]) for name in COLUMNS]) for row in rows)


async def as_json(lots: AsyncIterator[Rows]) -> AsyncIterator[str]:
    """One array; written lot by lot, so that a million of them need little memory."""
    begins = "[\n"
    async for rows in lots:
        for row in rows:
            yield begins + json.dumps(row, ensure_ascii=False)
            begins = ",\n"
    yield "[\n]\n" if begins == "[\n" else "\n]\n"


def _cell(value: Any) -> str:
    """As text that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(FORMULA) else text
