"""Apps that agents started, in the admin: whose and when. Not their labels: who knows one may look at the app."""

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.apps.models import App
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to_id


@admin.register(App)
class AppAdmin(ReadOnlyAdmin):
    list_display = ("id", "user", "port", "started_at")
    list_select_related = ("user",)
    ordering = ("id",)
    search_fields = ("id", "task_id", "user")
    search_help_text = _("The id of an app or a conversation, or the beginning of a person's e-mail address.")
    content_fields = ("title", "command")
    readonly_fields = ("talk",)
    fields = ("id", "user", "talk", "title", "command", "port", "started", "started_at")

    @admin.display(description=_("Conversation"))
    def talk(self, app: App) -> SafeString | str:
        return link_to_id("conversations_conversation", app.task_id)
