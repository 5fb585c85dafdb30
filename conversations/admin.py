"""Conversations in the admin, for looking only. What was said is shown to its owner and to whoever has the
permission.
"""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents.models import Execution
from conversations.models import Conversation, Message, Share
from conversations.schedules.models import Schedule, ScheduledRun
from conversations.sharing import actions as sharing
from hitl.models import Request
from hyperagent.accounts.models import User
from hyperagent.lib.admin_values import end_of_id, long_text
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_list


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    list_display = ("id", "user", "origin", "created_at", "updated_at", "deleted_at")
    list_filter = ("origin",)
    list_select_related = ("user",)
    ordering = ("-created_at", "id")
    search_fields = ("id", "user")
    search_help_text = _("The id of a conversation or a person, or the beginning of an e-mail address.")
    content_fields = ("title",)
    readonly_fields = ("its_messages", "its_runs", "its_requests")
    fields = (
        "id", "user", "title", "titled_by", "origin", "created_at", "updated_at", "deleted_at", "its_messages",
        "its_runs", "its_requests",
    )  # fmt: skip

    @admin.display(description=_("Messages"))
    def its_messages(self, conversation: Conversation) -> SafeString:
        return link_to_list(Message, gettext("all messages"), conversation__id__exact=conversation.pk)

    @admin.display(description=_("Runs"))
    def its_runs(self, conversation: Conversation) -> SafeString:
        return link_to_list(Execution, gettext("all runs"), q=str(conversation.pk))

    @admin.display(description=_("Requests"))
    def its_requests(self, conversation: Conversation) -> SafeString:
        return link_to_list(Request, gettext("all requests"), q=str(conversation.pk))


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("id", "role", "mode", "talk", "run", "created_at")
    list_select_related = ("conversation", "execution")
    ordering = ("conversation_id", "created_at", "id")
    search_fields = ("id", "conversation", "execution")
    search_help_text = _("The id of a message, a conversation or a run.")
    content_fields = ("text", "answer", "metadata")
    readonly_fields = ("answer", "talk", "run")
    fields = ("id", "talk", "parent", "role", "text", "answer", "run", "mode", "metadata", "client_id", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        rows: QuerySet[Message] = super().get_queryset(request)
        return rows.defer("text", "execution__answer", "execution__question", "execution__input", "execution__result")

    def owner_id(self, row: Any) -> Any:
        return row.conversation.user_id

    @admin.display(description=_("Conversation"))
    def talk(self, message: Message) -> SafeString:
        return link_to(message.conversation, end_of_id(message.conversation_id))

    @admin.display(description=_("Run"))
    def run(self, message: Message) -> SafeString | str:
        return link_to(message.execution, end_of_id(message.execution_id)) if message.execution else ""

    @admin.display(description=_("Answer"))
    def answer(self, message: Message) -> SafeString | str:
        return long_text(message.execution.answer) if message.execution else ""


@admin.register(Share)
class ShareAdmin(ReadOnlyAdmin):
    """Links by which others read conversations. What they show, and their addresses, stand nowhere here."""

    list_display = (
        "id", "its_person", "talk", "keeps_up", "created_at", "ends_at", "revoked_at", "views", "last_seen_at"
    )  # fmt: skip
    list_filter = ("keeps_up", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("conversation", "conversation__user")
    ordering = ("-created_at", "id")
    search_fields = ("id", "conversation")
    search_help_text = _("The id of a link or a conversation.")
    readonly_fields = ("its_person", "talk")
    fields = (
        "id", "its_person", "talk", "upto", "with_sources", "with_attachments", "keeps_up", "created_at", "ends_at",
        "revoked_at", "views", "last_seen_at",
    )  # fmt: skip
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Share]:
        rows: QuerySet[Share] = super().get_queryset(request)
        return rows.defer("content", "token_hash")

    def owner_id(self, row: Any) -> Any:
        return row.conversation.user_id

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.change_share")

    @admin.action(description=_("Revoke the selected links"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Share]) -> None:
        assert isinstance(request.user, User)
        count = sharing.revoke_any(queryset, by=request.user)
        text = ngettext(
            "{count} revoked: nobody opens it any more.", "{count} revoked: nobody opens them any more.", count
        )
        self.message_user(request, text.format(count=count))

    @admin.display(description=_("User"))
    def its_person(self, link: Share) -> SafeString:
        return link_to(link.conversation.user, str(link.conversation.user))

    @admin.display(description=_("Conversation"))
    def talk(self, link: Share) -> SafeString:
        return link_to(link.conversation, str(link.conversation_id))


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    """Questions that are asked by themselves. What they ask, and what was approved beforehand, is content."""

    list_display = ("id", "user", "kind", "on_approval", "next_due_at", "paused_at", "paused_why", "created_at")
    list_filter = ("kind", "on_approval", "paused_why", ("ended_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    ordering = ("-created_at", "-id")
    search_fields = ("id", "user")
    search_help_text = _("The id of a schedule or a person, or the beginning of an e-mail address.")
    content_fields = ("title", "question", "preapproved")
    readonly_fields = ("its_runs",)
    fields = (
        "id", "user", "title", "question", "mode", "kind", "at", "every_s", "cron", "time_zone", "ends_at", "talk",
        "conversation", "project", "on_approval", "preapproved", "next_due_at", "paused_at", "paused_why", "ended_at",
        "created_at", "its_runs",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        rows: QuerySet[Schedule] = super().get_queryset(request)
        return rows.defer("question", "preapproved")

    @admin.display(description=_("History"))
    def its_runs(self, schedule: Schedule) -> SafeString:
        return link_to_list(ScheduledRun, gettext("all times"), q=str(schedule.pk))


@admin.register(ScheduledRun)
class ScheduledRunAdmin(ReadOnlyAdmin):
    """Times that came, and what came of them."""

    list_display = ("id", "its_schedule", "cause", "outcome", "skipped_why", "missed", "due_at", "run", "created_at")
    list_filter = ("cause", "outcome", "skipped_why")
    list_select_related = ("schedule", "execution")
    ordering = ("-created_at", "-id")
    search_fields = ("id", "schedule", "execution")
    search_help_text = _("The id of one of them, of a schedule or of a run.")
    content_fields = ("refusal",)
    readonly_fields = ("its_schedule", "run")
    fields = (
        "id", "its_schedule", "due_at", "created_at", "cause", "missed", "outcome", "skipped_why", "refusal", "run",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScheduledRun]:
        rows: QuerySet[ScheduledRun] = super().get_queryset(request)
        heavy = ("execution__answer", "execution__question", "execution__input", "execution__result")
        return rows.defer("schedule__question", "schedule__preapproved", *heavy)

    def owner_id(self, row: Any) -> Any:
        return row.schedule.user_id

    @admin.display(description=_("Schedule"))
    def its_schedule(self, row: ScheduledRun) -> SafeString:
        return link_to(row.schedule, end_of_id(row.schedule_id))

    @admin.display(description=_("Run"))
    def run(self, row: ScheduledRun) -> SafeString | str:
        return link_to(row.execution, end_of_id(row.execution_id)) if row.execution else ""
