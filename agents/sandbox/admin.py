"""Boxes and their snapshots in the admin, for looking only: whose, where and how long; never what lay in them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.sandbox.models import SandboxSession, SandboxSnapshot
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to_id


@admin.register(SandboxSession)
class SandboxSessionAdmin(ReadOnlyAdmin):
    list_display = ("opened_at", "user", "sandbox_type", "provider", "host", "runs", "used_seconds", "ended_because")
    list_filter = ("ended_because", ("ended_at", admin.EmptyFieldListFilter), "opened_at")
    list_select_related = ("user",)
    ordering = ("-opened_at", "id")
    sortable_by = ("opened_at",)
    search_fields = ("id", "task_id", "user")
    search_help_text = _("The id of a box or a conversation, or the beginning of a person's e-mail address.")
    readonly_fields = ("talk",)
    fields = (
        "id", "user", "talk", "sandbox_type", "key", "provider", "host", "opened_at", "used_at", "ended_at",
        "ended_because", "close_wanted", "runs", "used_seconds", "note",
    )  # fmt: skip

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True

    @admin.display(description=_("Conversation"))
    def talk(self, session: SandboxSession) -> SafeString | str:
        return link_to_id("conversations_conversation", session.task_id)


@admin.register(SandboxSnapshot)
class SandboxSnapshotAdmin(ReadOnlyAdmin):
    list_display = ("made_at", "user", "task_id", "sandbox_type", "size_bytes")
    list_select_related = ("user",)
    ordering = ("-made_at", "id")
    sortable_by = ("made_at",)
    search_fields = ("id", "task_id", "user")
    search_help_text = _("The id of a snapshot or a conversation, or the beginning of a person's e-mail address.")
    fields = ("id", "user", "task_id", "sandbox_type", "size_bytes", "sha256", "made_at")

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True
