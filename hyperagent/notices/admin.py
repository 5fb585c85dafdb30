"""Webhooks, their log and the mails, for administrators to look at. Nothing is edited here; a delivery can be sent
again. Of other people's endpoints only the host is shown: the rest of an address may be a secret.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_list
from hyperagent.lib.refusals import Refused
from hyperagent.notices.actions import deliver_again
from hyperagent.notices.models import Delivery, Endpoint, Mail


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = ("host", "whose", "events", "state", "failing_since", "created_at")
    list_filter = (("user", admin.EmptyFieldListFilter), ("disabled_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    search_fields = ("id", "user")
    search_help_text = _("The id of a webhook, or the beginning of a person's e-mail address.")
    content_fields = ("url",)
    readonly_fields = ("host", "whose", "log")
    fields = (
        "id", "whose", "host", "url", "events", "disabled_at", "disabled_why", "failing_since", "resting_until",
        "created_at", "deleted_at", "log",
    )  # fmt: skip

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return (row is not None and row.is_installations) or super().may_read(request, row)

    @admin.display(description=_("Host"))
    def host(self, endpoint: Endpoint) -> str:
        return endpoint.host

    @admin.display(description=_("Whose"))
    def whose(self, endpoint: Endpoint) -> str:
        return str(endpoint.user or gettext("the installation's"))

    @admin.display(description=_("State"))
    def state(self, endpoint: Endpoint) -> str:
        if endpoint.deleted_at:
            return pgettext("choice", "deleted")
        return pgettext("choice", "on") if endpoint.enabled else pgettext("choice", "off")

    @admin.display(description=_("Deliveries"))
    def log(self, endpoint: Endpoint) -> SafeString:
        return link_to_list(Delivery, gettext("all deliveries"), endpoint__id__exact=endpoint.pk)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("type", "status", "host", "whose", "attempts", "last_status_code", "created_at", "delivered_at")
    list_filter = ("status", "type")
    ordering = ("-created_at", "-id")
    list_select_related = ("endpoint__user",)
    search_fields = ("id", "endpoint")
    search_help_text = _("The id of a delivery or a webhook.")
    content_fields = ("payload", "response_head", "last_error")
    readonly_fields = ("its_endpoint", "whose")
    fields = (
        "id", "event_id", "type", "its_endpoint", "whose", "status", "attempts", "last_status_code", "last_error",
        "response_head", "payload", "created_at", "last_attempt_at", "next_attempt_at", "delivered_at",
    )  # fmt: skip
    actions = ("send_again",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        rows: QuerySet[Delivery] = super().get_queryset(request)
        return rows.select_related("endpoint__user").defer("payload", "response_head", "last_error")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return lookup == "endpoint__id__exact" or super().lookup_allowed(lookup, value, request)

    def owner_id(self, row: Any) -> Any:
        return row.endpoint.user_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return (row is not None and row.endpoint.is_installations) or super().may_read(request, row)

    @admin.display(description=_("Host"))
    def host(self, delivery: Delivery) -> str:
        return delivery.endpoint.host

    @admin.display(description=_("Whose"))
    def whose(self, delivery: Delivery) -> str:
        return str(delivery.endpoint.user or gettext("the installation's"))

    @admin.display(description=_("Webhook"))
    def its_endpoint(self, delivery: Delivery) -> SafeString:
        return link_to(delivery.endpoint)

    @admin.action(description=_("Deliver again"))
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        sent, refused = 0, 0
        for delivery in queryset:
            try:
                deliver_again(delivery)
                sent += 1
            except Refused:
                refused += 1
        if sent:
            self.message_user(request, gettext("On their way again: {count}.").format(count=sent), messages.SUCCESS)
        if refused:
            text = gettext("Not sent, because their webhook is off: {count}.").format(count=refused)
            self.message_user(request, text, messages.WARNING)


@admin.register(Mail)
class MailAdmin(ReadOnlyAdmin):
    list_display = ("kind", "user", "created_at", "sent_at", "attempts", "given_up_at")
    list_filter = ("kind",)
    list_select_related = ("user",)
    search_fields = ("id", "user")
    search_help_text = _("The id of a mail, or the beginning of a person's e-mail address.")
    content_fields = ("title", "facts")
    fields = (
        "id", "kind", "user", "subject_id", "title", "facts", "path", "attempts", "last_error", "next_attempt_at",
        "created_at", "sent_at", "given_up_at",
    )  # fmt: skip
