"""What the guardrails found, in the admin: for administrators and auditors to look at, and for whoever has the
permission to say whether it was right. What an excerpt shows is content, short as it is.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from agents.guardrails.actions import PERMISSION, judge
from agents.guardrails.models import Feedback, Verdict
from agents.guardrails.registry import found_scanners
from hitl.admin.access import ForAuditors, is_administrator, reads_all
from hyperagent.accounts.models import User
from hyperagent.lib.read_only_admin import link_to_id


class ScannerFilter(admin.SimpleListFilter):
    """By the scanners that there are: to ask the table which ones it has would read all of it."""

    title = _("scanner")
    parameter_name = "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted({*found_scanners(), "content"})]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(scanner=self.value()) if self.value() else queryset


@admin.register(Verdict)
class VerdictAdmin(ForAuditors):
    list_display = ("created_at", "place", "scanner", "kind", "action", "count", "run", "its_feedback", "user")
    list_filter = ("created_at", "place", ScannerFilter, "action", "certainty", "feedback")
    list_select_related = ("user",)
    ordering = ("-created_at", "-id")
    sortable_by = ("created_at",)
    search_fields = ("id", "execution", "user")
    search_help_text = _("The number of a verdict, the id of a run, or the beginning of a person's e-mail address.")
    state_fields = ("action", "feedback")
    content_fields = ("excerpt",)
    readonly_fields = ("run", "talk", "its_feedback")
    fields = (
        "created_at", "place", "scanner", "kind", "certainty", "action", "count", "reason", "excerpt", "tool", "run",
        "seq", "talk", "agent_name", "user", "its_feedback", "feedback_by", "feedback_at",
    )  # fmt: skip
    actions = ("mark_wrong", "mark_right", "take_back")

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return row is not None and (reads_all(request) or row.user_id == request.user.pk)

    def get_list_display(self, request: HttpRequest) -> Any:
        """With an excerpt for those who may read it; runs are linked for those who may see them."""
        columns = list(super().get_list_display(request))
        if reads_all(request):
            columns.insert(columns.index("count"), "excerpt")
        return columns if is_administrator(request) else [name for name in columns if name != "run"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        linked = ("run", "talk")
        fields = list(super().get_fields(request, obj))
        if is_administrator(request):
            return fields
        return ["execution_id" if name == "run" else name for name in fields if name != linked[1]]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*super().get_readonly_fields(request, obj), "execution_id"]

    def has_judge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)

    @admin.display(description=_("Run"))
    def run(self, verdict: Verdict) -> SafeString | str:
        return link_to_id("agents_execution", verdict.execution_id, str(verdict.execution_id)[:8], row=verdict)

    @admin.display(description=_("Conversation"))
    def talk(self, verdict: Verdict) -> SafeString | str:
        return link_to_id("conversations_conversation", verdict.conversation_id, row=verdict)

    @admin.display(description=_("Feedback"), ordering=None)
    def its_feedback(self, verdict: Verdict) -> str:
        return str(Feedback(verdict.feedback).label) if verdict.feedback else "—"

    # --- what people say of it

    @admin.action(description=_("Mark as wrong: this was no violation"), permissions=["judge"])
    def mark_wrong(self, request: HttpRequest, queryset: QuerySet[Verdict]) -> None:
        self._judge(request, queryset, Feedback.WRONG)

    @admin.action(description=_("Mark as right"), permissions=["judge"])
    def mark_right(self, request: HttpRequest, queryset: QuerySet[Verdict]) -> None:
        self._judge(request, queryset, Feedback.RIGHT)

    @admin.action(description=_("Take the feedback back"), permissions=["judge"])
    def take_back(self, request: HttpRequest, queryset: QuerySet[Verdict]) -> None:
        self._judge(request, queryset, Feedback.NONE)

    def _judge(self, request: HttpRequest, queryset: QuerySet[Verdict], feedback: Feedback) -> None:
        assert isinstance(request.user, User)
        # By their ids: what was selected may be filtered by feedback.
        chosen = Verdict.objects.filter(pk__in=list(queryset.order_by().values_list("pk", flat=True)))
        count = judge(chosen, feedback, by=request.user)
        words = {
            Feedback.WRONG: ngettext("{count} was marked as wrong.", "{count} were marked as wrong.", count),
            Feedback.RIGHT: ngettext("{count} was marked as right.", "{count} were marked as right.", count),
            Feedback.NONE: ngettext("{count} has no feedback now.", "{count} have no feedback now.", count),
        }
        self.message_user(request, words[feedback].format(count=count), messages.SUCCESS)

    # --- the buttons of one row's page

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.feedback_view))
        return [path("<int:verdict_id>/feedback/", view, name="agents_verdict_feedback"), *super().get_urls()]

    def feedback_view(self, request: HttpRequest, verdict_id: int) -> HttpResponse:
        """Raises PermissionDenied by way of the verb."""
        verdict = get_object_or_404(self.get_queryset(request), pk=verdict_id)
        given = request.POST.get("feedback", "")
        if not self.has_view_permission(request, verdict) or not self.has_judge_permission(request):
            return HttpResponse(status=403)
        if given not in Feedback.values:
            return HttpResponse(status=400)
        self._judge(request, Verdict.objects.filter(pk=verdict.pk), Feedback(given))
        return HttpResponseRedirect(reverse("admin:agents_verdict_change", args=[verdict.pk]))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        more = {"may_judge": self.has_judge_permission(request), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, more)
