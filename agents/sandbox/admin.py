"""Boxes and their snapshots in the admin, for looking only: whose, where and how long; never what lay in them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from agents.sandbox.models import SandboxSession, SandboxSnapshot
from hyperagent.lib.read_only_admin import ReadOnlyAdmin


@admin.register(SandboxSession)
class SandboxSessionAdmin(ReadOnlyAdmin):
    list_display = ("opened_at", "user", "sandbox_type", "provider", "host", "runs", "used_seconds", "ended_because")
    list_filter = ("ended_because", "provider")
    list_select_related = ("user",)
    ordering = ("-opened_at", "id")
    search_fields = ("task_id",)
    search_help_text = "The id of a conversation."
    fields = (
        "id", "user", "task_id", "sandbox_type", "key", "provider", "host", "opened_at", "used_at", "ended_at",
        "ended_because", "close_wanted", "runs", "used_seconds", "note",
    )  # fmt: skip

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True


@admin.register(SandboxSnapshot)
class SandboxSnapshotAdmin(ReadOnlyAdmin):
    list_display = ("made_at", "user", "task_id", "sandbox_type", "size_bytes")
    list_select_related = ("user",)
    ordering = ("-made_at", "id")
    fields = ("id", "user", "task_id", "sandbox_type", "size_bytes", "sha256", "made_at")

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True
