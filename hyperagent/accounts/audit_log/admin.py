"""The audit log in the admin, for administrators and auditors: to search, to read, to take away."""

import re
from typing import Any, Final

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.audit_log.access import may_read
from hyperagent.audit.exporting import Form, export
from hyperagent.audit.kinds import AuditKind, Family, family_of
from hyperagent.audit.models import AuditEvent
from hyperagent.audit.recording import actor_of
from hyperagent.audit.sealing import seal
from hyperagent.lib.admin_lists import as_uuid, people_called
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to_id

_ADDRESS: Final = re.compile(r"[0-9a-fA-F:.]{3,45}(/\d{1,3})?")
_MOST_DIGITS: Final = 18
_NAMES: Final = {
    Family.SIGNING_IN: _("Signing in and out"),
    Family.PEOPLE: _("People, roles, limits"),
    Family.PROGRAMS: _("Tokens and connections"),
    Family.APPROVALS: _("Decisions, rules, switches"),
    Family.DATA: _("Exports, shares, looks"),
    Family.HOUSE: _("The installation"),
}


class FamilyFilter(admin.SimpleListFilter):
    title = _("kind")
    parameter_name = "family"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(family.value, _NAMES[family]) for family in Family]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in set(Family):
            return queryset
        return queryset.filter(kind__in=[kind.value for kind in AuditKind if family_of(kind) == self.value()])


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    change_list_template = "admin/audit/auditevent/change_list.html"
    list_display = ("number", "at", "what", "who", "whom", "address")
    list_display_links = ("number",)
    list_filter = (FamilyFilter, "at")
    ordering = ("-number",)
    search_fields = ("number",)
    search_help_text = _(
        "An e-mail address or its beginning, an id (of a person, of what it was about, of a request), an address on the"
        " net, a kind such as sign_in.failed, or a number of the log."
    )
    fields = (
        "number", "at", "what", "who", "actor_id", "whom", "target_type", "target_id", "address", "browser",
        "request_id", "details", "fingerprint",
    )  # fmt: skip
    readonly_fields = ("what", "who", "whom", "fingerprint")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_read(request.user)

    def owner_id(self, row: Any) -> Any:
        return None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return AuditEvent.objects.sealed()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        seal()
        return super().changelist_view(request, extra_context)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        seal()
        return super().changeform_view(request, *args, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip().replace("\x00", "")
        return (queryset.filter(pk__in=_about(term)) if term else queryset), False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.export)
        return [path("export.<str:audit_form>", view, name="audit_auditevent_export"), *super().get_urls()]

    def export(self, request: HttpRequest, audit_form: str) -> HttpResponseBase:
        """What the list shows with these filters, oldest first."""
        actor = actor_of(request.user)
        if not self.has_view_permission(request) or audit_form not in set(Form) or actor is None:
            raise PermissionDenied
        rows = self.get_changelist_instance(request).get_queryset(request)
        # Not the words that were typed: a name in them could not be forgotten.
        return export(
            rows, Form(audit_form), by=actor, filters={"by": sorted(set(request.GET) & {"q", "family", "at"})}
        )

    @admin.display(description=_("What"))
    def what(self, row: AuditEvent) -> Any:
        return format_html("<code>{}</code>", row.kind)

    @admin.display(description=_("Who"))
    def who(self, row: AuditEvent) -> Any:
        return link_to_id("accounts_user", row.actor_id, row.actor_name) if row.actor_id else "—"

    @admin.display(description=_("To whom or what"))
    def whom(self, row: AuditEvent) -> Any:
        if row.target_type == "user" and row.target_id:
            return link_to_id("accounts_user", row.target_id, row.target_name or row.target_id[:8])
        name = row.target_name or row.target_id[:8]
        return format_html("<code>{}</code> {}", row.target_type, name) if row.target_type else name or "—"

    @admin.display(description=_("Hash"))
    def fingerprint(self, row: AuditEvent) -> Any:
        return format_html("<code>{}</code>", bytes(row.hash or b"").hex())


def _about(term: str) -> QuerySet[Any, Any]:
    """Their ids, each part by an index of its own: a condition over several columns would be asked of every row."""
    if term in set(AuditKind):
        return _ids(kind=term)
    if id_ := as_uuid(term):
        return _ids(actor_id=id_).union(_ids(target_id=str(id_)), _ids(request_id=str(id_)), all=True)
    if term.isascii() and term.isdigit() and len(term) <= _MOST_DIGITS:
        return _ids(number=int(term)).union(_ids(target_id=term), all=True)
    if _ADDRESS.fullmatch(term) and ("." in term or ":" in term):
        return _ids(address=term)
    people = people_called(term)
    return _ids(actor_id__in=people).union(_ids(target_id__in=[str(id_) for id_ in people]), all=True)


def _ids(**which: Any) -> QuerySet[Any, Any]:
    return AuditEvent.objects.sealed().filter(**which).order_by().values("pk")
