"""Mailboxes that people connected, in the admin: whose, where, and how they stand. Never what opens them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.mail.models import MailAccount
from hyperagent.lib.read_only_admin import ReadOnlyAdmin


@admin.register(MailAccount)
class MailAccountAdmin(ReadOnlyAdmin):
    list_display = ("address", "user", "kind", "state", "trouble_at", "is_default", "created_at")
    list_filter = ("state", "kind")
    list_select_related = ("user",)
    ordering = ("user", "created_at")
    search_fields = ("id", "user")
    search_help_text = _("The id of a mailbox, or the beginning of a person's e-mail address.")
    fields = (
        "id", "user", "kind", "address", "display_name", "imap_host", "imap_port", "imap_security", "smtp_host",
        "smtp_port", "smtp_security", "state", "trouble", "trouble_at", "is_default", "created_at",
    )  # fmt: skip

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True
