"""Admin pages that only show: values as people read them, links to what belongs together, and nothing of what people
said unless the reader may see that.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from hyperagent.lib import looks
from hyperagent.lib.admin_lists import QuickListAdmin
from hyperagent.lib.admin_values import ago, as_json, dollars, long_text, moment, short_id, state, table
from hyperagent.lib.looks import VIEW_CONTENT

__all__ = [
    "VIEW_CONTENT", "ReadOnlyAdmin", "ReadableAdmin", "link_to", "link_to_id", "link_to_list", "list_address",
    "row_address", "table",
]  # fmt: skip

HIDDEN = _("(hidden: this is somebody else's. It takes the permission “Can read what other people's runs say”.)")

Shown = Callable[[Any], Any]


class ReadableAdmin(QuickListAdmin):
    """Moments, states, long texts and JSON look the same on every page, whatever model they belong to."""

    # Fields of which a word is a state, with a mark.
    state_fields: tuple[str, ...] = ("status", "state", "risk", "happening", "effect")

    def get_list_display(self, request: HttpRequest) -> Any:
        return [self._columns.get(name, name) for name in super().get_list_display(request)]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        links = super().get_list_display_links(request, list_display)
        return [self._columns.get(name, name) for name in links] if links else links

    def get_sortable_by(self, request: HttpRequest) -> Any:
        sortable = super().get_sortable_by(request)
        return sortable if sortable is None else {self._columns.get(name, name) for name in sortable} | {*sortable}

    def shown_fields(self, names: list[Any]) -> list[Any]:
        return [self._values.get(name, name) for name in names]

    @cached_property
    def _columns(self) -> dict[Any, Shown]:
        """In place of a list's columns."""
        found: dict[Any, Shown] = {}
        for name in self.list_display:
            field = _field(self.model, name)
            if isinstance(field, models.DateTimeField):
                found[name] = _showing(field, ago)
            elif field is not None and name in self.state_fields:
                found[name] = _showing(field, _state_of(field))
            elif isinstance(field, models.UUIDField):
                found[name] = _showing(field, short_id)
            elif isinstance(field, models.DecimalField) and field.name.endswith("_usd"):
                found[name] = _showing(field, dollars)
        return found

    @cached_property
    def _values(self) -> dict[Any, Shown]:
        """In place of the fields of one row's page."""
        found: dict[Any, Shown] = {}
        for field in self.model._meta.concrete_fields:
            if field.name in self.state_fields:
                found[field.name] = _showing(field, _state_of(field))
            elif isinstance(field, models.DateTimeField):
                found[field.name] = _showing(field, moment)
            elif isinstance(field, models.JSONField):
                found[field.name] = _showing(field, as_json)
            elif isinstance(field, models.TextField):
                found[field.name] = _showing(field, long_text)
        return found


class UnchangedAdmin(ReadableAdmin):
    """Nobody adds, changes or deletes here, except by its actions."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(UnchangedAdmin):
    """For every administrator to look at; nobody adds, changes or deletes here."""

    actions: tuple[str, ...] | None = None
    # Fields that people or models wrote, shown to their owner and to whoever has the permission.
    content_fields: tuple[str, ...] = ()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def owner_id(self, row: Any) -> Any:
        """Whose content it is."""
        return row.user_id

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return row is not None and (self.owner_id(row) == request.user.pk or request.user.has_perm(VIEW_CONTENT))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Where the content may not be read, a note stands in its place."""
        fields = list(super().get_fields(request, obj))
        kept = fields if self.may_read(request, obj) else [name for name in fields if name not in self.content_fields]
        hidden = ["content_is_hidden"] if len(kept) < len(fields) else []
        return self.shown_fields([*kept, *hidden])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*super().get_readonly_fields(request, obj), *self._values.values(), "content_is_hidden"]

    @cached_property
    def _values(self) -> dict[Any, Shown]:
        """Another row is a link for whoever may open it: not every auditor or reviewer may."""
        found = dict(super()._values)
        for field in self.model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey):
                found[field.name] = _leading_to(field)
        return found

    def shows_words_of_others(self, request: HttpRequest, row: Any) -> bool:
        """What nobody owns is nobody's secret."""
        is_others = self.content_fields and self.owner_id(row) not in (None, request.user.pk)
        return bool(is_others and self.may_read(request, row))

    def render_change_form(  # noqa: PLR0917 - Django's own
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """Whoever reads what others said is noted."""
        if obj is not None:
            obj.looked_at_in = request
            if self.shows_words_of_others(request, obj):
                looks.note(request.user, [obj], looks.READ)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """So is whoever reads some of it in a list."""
        answer = super().changelist_view(request, extra_context)
        changes = (getattr(answer, "context_data", None) or {}).get("cl")
        for row in changes.result_list if changes is not None else ():
            row.looked_at_in = request
        if changes is not None and not {*self.content_fields}.isdisjoint(map(str, self.get_list_display(request))):
            rows = [row for row in changes.result_list if self.shows_words_of_others(request, row)]
            looks.note(request.user, rows, looks.READ_PREVIEW)
        return answer

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Looks are told in the reader's language."""
        answer = super().history_view(request, object_id, extra_context)
        shown = (getattr(answer, "context_data", None) or {}).get("action_list")
        if shown is not None:
            shown.object_list = list(shown.object_list)
            for entry in shown.object_list:
                entry.change_message = looks.in_words(entry.change_message)
        return answer

    @admin.display(description=_("Content"))
    def content_is_hidden(self, row: Any) -> str:
        return str(HIDDEN)


def _field(model: type[models.Model], name: Any) -> Any:
    try:
        return model._meta.get_field(name) if isinstance(name, str) else None
    except FieldDoesNotExist:
        return None


def _state_of(field: Any) -> Shown:
    """Shows a state by what its column calls it."""

    def shown(word: Any) -> Any:
        return state(word, called=dict(field.flatchoices).get(word, ""))

    return shown


def _leading_to(field: Any) -> Shown:
    def shown(row: Any) -> Any:
        other = getattr(row, field.name)
        if other is None:
            return "—"
        return link_to(other) if may_open(row, type(other)) else str(other)

    return _named_as(field, shown)


def may_open(row: Any, model: type[models.Model]) -> bool:
    """Whether whoever looks at this row may open those of another model. Where nobody knows who looks: yes."""
    request, page = getattr(row, "looked_at_in", None), admin.site._registry.get(model)
    return page is not None and (request is None or page.has_view_permission(request))


def _showing(field: Any, show: Shown) -> Shown:
    """A column or field that shows the value of this one, under its name, with its heading and its order."""

    def shown(row: Any) -> Any:
        return show(getattr(row, field.name))

    return _named_as(field, shown)


def _named_as(field: Any, shown: Shown) -> Shown:
    shown.__name__ = field.name
    shown.short_description = field.verbose_name  # type: ignore[attr-defined]
    shown.admin_order_field = field.name  # type: ignore[attr-defined]
    return shown


def link_to_list(model: type[models.Model], text: str, **lookups: Any) -> SafeString:
    return format_html('<a href="{}">{}</a>', list_address(model, **lookups), text)


def list_address(model: type[models.Model], **lookups: Any) -> str:
    return f"{_address(model, 'changelist')}?{urlencode(lookups)}"


def link_to(row: models.Model, text: str | None = None) -> SafeString:
    return format_html('<a href="{}">{}</a>', row_address(row), text or str(row))


def row_address(row: models.Model) -> str:
    return _address(type(row), "change", row.pk)


def link_to_id(page: str, id_: Any, text: str | None = None, *, row: Any = None) -> SafeString | str:
    """A row of an app that stands above, which is named and not imported: `agents_execution`, say. `row`: the one that
    it stands in; without it, everybody gets the link."""
    if not id_:
        return "—"
    app, _underscore, name = page.partition("_")
    if not may_open(row, apps.get_model(app, name)):
        return text or str(id_)
    return format_html('<a href="{}">{}</a>', reverse(f"admin:{page}_change", args=[id_]), text or str(id_))


def _address(model: type[models.Model], page: str, *args: Any) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)
