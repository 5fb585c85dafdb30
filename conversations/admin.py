"""Conversations in the admin, for looking only. What was said is shown to its owner and to whoever has the
permission.
"""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from agents.models import Execution
from conversations.models import Conversation, Message
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_list


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    list_display = ("id", "user", "origin", "created_at", "updated_at", "deleted_at")
    list_filter = ("origin",)
    list_select_related = ("user",)
    ordering = ("-id",)
    search_fields = ("=id",)
    search_help_text = "The id of a conversation."
    content_fields = ("title",)
    readonly_fields = ("its_messages", "its_runs")
    fields = (
        "id", "user", "title", "titled_by", "origin", "created_at", "updated_at", "deleted_at", "its_messages",
        "its_runs", )  # fmt: skip

    @admin.display(description="Messages")
    def its_messages(self, conversation: Conversation) -> SafeString:
        return link_to_list(Message, "all messages", conversation__id__exact=conversation.pk)

    @admin.display(description="Runs")
    def its_runs(self, conversation: Conversation) -> SafeString:
        return link_to_list(Execution, "all runs", q=str(conversation.pk))


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("id", "role", "mode", "talk", "run", "created_at")
    list_select_related = ("conversation", "execution")
    ordering = ("conversation", "created_at", "id")
    content_fields = ("text", "answer", "metadata")
    readonly_fields = ("answer", "talk", "run")
    fields = ("id", "talk", "parent", "role", "text", "answer", "run", "mode", "metadata", "client_id", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        rows: QuerySet[Message] = super().get_queryset(request)
        return rows.defer("text", "execution__answer", "execution__question", "execution__input", "execution__result")

    def owner_id(self, row: Any) -> Any:
        return row.conversation.user_id

    @admin.display(description="Conversation")
    def talk(self, message: Message) -> SafeString:
        return link_to(message.conversation, str(message.conversation_id))

    @admin.display(description="Run")
    def run(self, message: Message) -> SafeString | str:
        return link_to(message.execution, str(message.execution_id)) if message.execution else ""

    @admin.display(description="Answer")
    def answer(self, message: Message) -> str:
        return message.execution.answer if message.execution else ""
