"""The queue: what waits for a person, decided one by one or many at once. All of it goes through `hitl.actions`."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from hitl import actions
from hitl.admin.access import ForReviewers, reads_all, sees_all
from hitl.admin.deciding import DecisionForm, shown_calls, shown_changes, shown_tasks
from hitl.answers import Response
from hitl.kinds import RequestKind, RequestStatus, Via
from hitl.models import Decision, Request
from hitl.policy import AFTER_TAINT
from hyperagent.accounts.models import User
from hyperagent.lib.admin_values import end_of_id, moment, state, waited
from hyperagent.lib.labels import said
from hyperagent.lib.read_only_admin import link_to_id, table
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.stored_sentences import in_our_words
from hyperagent.lib.text import clean_text

PENDING = "pending"
HISTORY_SHOWN = 100


class WhoseFilter(admin.SimpleListFilter):
    title = _("whose turn it is")
    parameter_name = "turn"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("mine", gettext("Mine to decide"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() != "mine":
            return queryset
        assert isinstance(request.user, User)
        mine = Request.objects.decidable_by(request.user).pending()
        return queryset.filter(pk__in=mine.order_by().values("pk"))


def _asked(row: Request) -> Mapping[str, Any]:
    return row.question if isinstance(row.question, Mapping) else {"question": row.question}


def _in_our_words(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The question with what is asked, and why, as its reader says it. What others wrote has a place of its own."""
    why = str(asked.get("why") or "")
    if asked.get("tainted_by"):
        why = why.rpartition(AFTER_TAINT)[2].strip()
    return {**asked, "question": in_our_words(str(asked.get("question") or "")), "why": in_our_words(why)}


@admin.register(Request)
class RequestAdmin(ForReviewers):
    change_form_template = "admin/hitl/request/change_form.html"
    list_display = (
        "asks", "waiting", "status", "kind", "risk", "agent_name", "tools", "user", "approvers", "expires_at",
    )  # fmt: skip
    list_filter = (WhoseFilter, "status", "kind", "risk", "approver_kind")
    list_select_related = ("user",)
    ordering = ("-created_at", "request_id")
    search_fields = ("request_id", "execution_id", "conversation_id", "user")
    search_help_text = _("The id of a request, a run or a conversation, or the beginning of a person's e-mail address.")
    content_fields = ("question", "task_description", "its_calls", "its_changes", "answer", "user_instructions")
    readonly_fields = ("run", "talk", "approvers", "ended_at", "its_calls", "its_changes", "its_history")
    fields = (
        "request_id", "kind", "status", "risk", "user", "agent_name", "run", "task_description", "its_calls",
        "its_changes", "approvers", "created_at", "remind_at", "snoozed_until", "expires_at", "decided_by",
        "decided_via", "ended_at", "user_instructions", "answer", "question", "its_history", "talk",
        "agent_id", "arguments_hash",
    )  # fmt: skip
    actions = ("approve", "deny")

    # --- who sees what

    def get_queryset(self, request: HttpRequest) -> QuerySet[Request]:
        """Reviewers: what their policies give them, and their own."""
        assert isinstance(request.user, User)
        if sees_all(request):
            return super().get_queryset(request)
        return super().get_queryset(request).filter(pk__in=Request.objects.visible_to(request.user).values("pk"))

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        if row is None:
            return False
        assert isinstance(request.user, User)
        return reads_all(request) or Request.objects.visible_to(request.user).filter(pk=row.pk).exists()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Opened without a filter it shows what waits."""
        if not request.GET and request.method == "GET":
            return redirect(f"{request.path}?status__exact={PENDING}")
        return super().changelist_view(request, extra_context)

    # --- deciding one

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        form = self._form(request, row) if row is not None else None
        if row is not None and form is not None and form.is_bound and self._decided(request, row, form):
            return redirect(reverse("admin:hitl_request_changelist") + f"?status__exact={PENDING}")
        if form is not None and form.is_bound:
            # Shown again with what was typed: as a page to look at, not as Django's own form to save.
            request.method = "GET"
        context = dict(extra_context or {})
        if row is not None and form is not None:
            shown = shown_tasks(row.question) if row.kind == RequestKind.PLAN else shown_calls(row.question)
            context |= {"decision_form": form, "asked": _in_our_words(_asked(row)), "calls": shown}
        return super().change_view(request, object_id, form_url, context)

    def _form(self, request: HttpRequest, row: Request) -> DecisionForm | None:
        """None where there is nothing to decide for this reader, unless they just tried."""
        assert isinstance(request.user, User)
        tried = request.method == "POST" and "decision" in request.POST
        if tried and self.may_read(request, row):
            return DecisionForm(row, request.POST)
        theirs = Request.objects.decidable_by(request.user).pending().filter(pk=row.pk).exists()
        return DecisionForm(row) if theirs else None

    def _decided(self, request: HttpRequest, row: Request, form: DecisionForm) -> bool:
        assert isinstance(request.user, User)
        if not form.is_valid():
            return False
        try:
            done = actions.respond(request.user, row.pk, form.response(), via=Via.ADMIN)
        except NotThere:
            self.message_user(request, gettext("This request is not yours to see any more."), messages.ERROR)
            return True
        except Refused as refused:
            form.blame(refused)
            return False
        self.message_user(request, self._what_came_of(done), messages.SUCCESS)
        return True

    @staticmethod
    def _what_came_of(done: Request) -> str:
        if done.status == PENDING and done.snoozed_until is not None:
            text = gettext("The request of the {agent} agent is put off until {when}.")
            when = date_format(timezone.localtime(done.snoozed_until), "SHORT_DATETIME_FORMAT")
            return text.format(agent=done.agent_name, when=when)
        text = gettext("The request of the {agent} agent is {status}.")
        return text.format(agent=done.agent_name, status=said(done.status))

    # --- deciding many

    @admin.action(description=_("Approve selected requests"), permissions=("view",))
    def approve(self, request: HttpRequest, queryset: QuerySet[Request]) -> HttpResponse | None:
        return self._many(request, queryset, RequestStatus.APPROVED, "approve")

    @admin.action(description=_("Deny selected requests"), permissions=("view",))
    def deny(self, request: HttpRequest, queryset: QuerySet[Request]) -> HttpResponse | None:
        return self._many(request, queryset, RequestStatus.DENIED, "deny")

    def _many(
        self, request: HttpRequest, queryset: QuerySet[Request], status: RequestStatus, verb: str
    ) -> HttpResponse | None:
        """Shows what would be decided; decides when that was confirmed. Only approvals: all that they are about is in
        their arguments."""
        assert isinstance(request.user, User)
        theirs = Request.objects.decidable_by(request.user).pending().filter(kind=RequestKind.APPROVAL)
        chosen = theirs.filter(pk__in=queryset.values("pk"))
        rows = list(chosen.select_related("user").order_by("created_at")[: actions.MAX_AT_ONCE])
        if not rows:
            words = gettext(
                "None of these is an approval that is open and yours to decide. Open another request to decide it."
            )
            self.message_user(request, words, messages.WARNING)
            return None
        if request.POST.get("confirmed") != "yes":
            left = queryset.count() - len(rows)
            context = {
                **self.admin_site.each_context(request),
                "title": self._title(status, len(rows)),
                "opts": self.opts,
                "verb": verb,
                "action": verb,
                "rows": [(row, shown_calls(row.question)) for row in rows],
                "left": left,
            }
            return TemplateResponse(request, "admin/hitl/request/many.html", context)
        reason = clean_text(request.POST.get("instructions", "").strip())
        self._tell(request, rows, Response(status, instructions=reason))
        return None

    @staticmethod
    def _title(status: RequestStatus, count: int) -> str:
        if status is RequestStatus.APPROVED:
            return ngettext("Approve {count} request?", "Approve {count} requests?", count).format(count=count)
        return ngettext("Deny {count} request?", "Deny {count} requests?", count).format(count=count)

    def _tell(self, request: HttpRequest, rows: list[Request], response: Response) -> None:
        assert isinstance(request.user, User)
        try:
            outcomes = actions.respond_to_many(request.user, [row.request_id for row in rows], response, via=Via.ADMIN)
        except Refused as refused:
            self.message_user(request, refused.message, messages.ERROR)
            return
        done = sum(outcome.refused is None for outcome in outcomes)
        if done:
            text = gettext("{done} of {count} are {status} now.")
            told = text.format(done=done, count=len(outcomes), status=said(response.decision))
            self.message_user(request, told, messages.SUCCESS)
        for outcome in outcomes:
            if outcome.refused is not None:
                self.message_user(request, f"{outcome.request_id}: {outcome.refused.message}", messages.ERROR)

    # --- columns

    @admin.display(description=_("Request"), ordering="created_at")
    def asks(self, row: Request) -> str:
        return end_of_id(row.request_id)

    @admin.display(description=_("ended at"))
    def ended_at(self, row: Request) -> str:
        return moment(row.responded_at)

    @admin.display(description=_("Tools"))
    def tools(self, row: Request) -> str:
        return ", ".join(row.tool_names)

    @admin.display(description=_("Who decides"))
    def approvers(self, row: Request) -> str:
        count = len(row.approver_ids)
        named = ngettext("{count} person by name", "{count} people by name", count).format(count=count)
        who = {"self": gettext("whose run it is"), "named": named}.get(
            row.approver_kind, f"{said(row.approver_kind)} {said(row.approver_name)}"
        )
        return gettext("{who}, but not whose run it is").format(who=who) if row.different_person else who

    @admin.display(description=_("Waiting"), ordering="-created_at")
    def waiting(self, row: Request) -> str:
        return waited(row.created_at) if row.status == PENDING else ""

    @admin.display(description=_("Run"))
    def run(self, row: Request) -> Any:
        return link_to_id("agents_execution", row.execution_id, end_of_id(row.execution_id), row=row)

    @admin.display(description=_("Conversation"))
    def talk(self, row: Request) -> Any:
        return link_to_id("conversations_conversation", row.conversation_id, row=row)

    @admin.display(description=_("What it would do"))
    def its_calls(self, row: Request) -> Any:
        return shown_calls(row.question)

    @admin.display(description=_("What was changed"))
    def its_changes(self, row: Request) -> Any:
        return shown_changes(row)

    @admin.display(description=_("History"))
    def its_history(self, row: Request) -> Any:
        found = Decision.objects.filter(request=row).order_by("at", "id")[:HISTORY_SHOWN]
        rows = [
            (moment(one.at), state(one.happening), one.actor_name or gettext("nobody"), said(one.via)) for one in found
        ]
        return table((_("When"), _("What"), _("Who"), _("By")), rows) if rows else "—"
