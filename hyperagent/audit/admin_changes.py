"""What is written in the admin, whatever the page: each addition, change and deletion is an event, in its transaction.
And what is looked at there.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import LogEntry
from django.db import models, transaction
from django.http import HttpRequest
from django.utils import translation

from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib import looks

ADDED, CHANGED, DELETED = AuditKind.ADMIN_ADDED, AuditKind.ADMIN_CHANGED, AuditKind.ADMIN_DELETED
# Of a model's own kind, where it has one: added, changed, deleted. None: its verb says so itself.
_KINDS: Final[Mapping[str, tuple[AuditKind | None, AuditKind | None, AuditKind | None]]] = {
    "accounts.user": (AuditKind.USER_CREATED, AuditKind.USER_CHANGED, AuditKind.USER_DELETED),
    "accounts.userquota": (AuditKind.QUOTA_CHANGED,) * 3,
    "auth.group": (AuditKind.GROUP_CHANGED,) * 3,
    "hitl.policy": (AuditKind.POLICY_CHANGED,) * 3,
    "hitl.switch": (None, CHANGED, DELETED),
    "agents.agenttuning": (None, None, None),
}
_HOW: Final = {looks.READ: "read", looks.READ_PREVIEW: "preview", looks.EXPORTED: "export"}
_WORDS: Final = ("added", "changed", "deleted")
IDS_NAMED: Final = 100


class Audited(ModelAdmin):  # type: ignore[type-arg]
    """Put before every class of the admin as it is registered, so that none can be forgotten."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        _record(request, self, obj, 0, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        _record(request, self, obj, 1, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            _record(request, self, row, 2, "")
        return super().log_deletions(request, queryset)

    def response_action(self, request: HttpRequest, queryset: Any) -> Any:  # type: ignore[override]
        """That many rows are deleted, and what is written down of it before: both or neither. Other actions call verbs,
        each of which is whole in itself."""
        deletes = request.POST.get("action") == "delete_selected"
        with transaction.atomic() if deletes else nullcontext():
            return super().response_action(request, queryset)


def audited(admin_class: Any) -> Any:
    if issubclass(admin_class, Audited):
        return admin_class
    return type(admin_class.__name__, (Audited, admin_class), {"__module__": admin_class.__module__})


def looked(reader: Any, rows: Sequence[models.Model], how: str) -> None:
    """One event a look, with the ids of what was read."""
    meta = rows[0]._meta
    alone = str(rows[0].pk) if len(rows) == 1 and rows[0].pk else ""
    details: dict[str, Any] = {"how": _HOW.get(how, how), "count": len(rows)}
    if not alone:
        details["ids"] = [str(row.pk) for row in rows[:IDS_NAMED] if row.pk]
    record(
        AuditKind.EXPORT_TAKEN if how == looks.EXPORTED else AuditKind.CONTENT_LOOKED_AT,
        actor=actor_of(reader),
        target=Target(str(meta.model_name), alone),
        details=details,
    )


def _record(request: HttpRequest, page: Any, row: Any, what: int, message: Any) -> None:
    meta = row._meta
    fields = _fields(message)
    kind = _KINDS.get(meta.label_lower, (ADDED, CHANGED, DELETED))[what]
    if meta.label_lower == "accounts.user" and [name.lower() for name in fields] == ["password"]:
        kind = AuditKind.PASSWORD_CHANGED
    if kind is None:
        return
    # What people wrote may be in the name of what has content.
    with translation.override(None):
        name = "" if getattr(page, "content_fields", ()) else str(row)
    details: dict[str, Any] = {"via": "admin", "what": _WORDS[what]}
    if fields:
        details["fields"] = fields
    record(
        kind,
        actor=actor_of(request.user),
        target=Target(str(meta.model_name), str(row.pk), name),
        details=details,
        request=request,
    )


def _fields(message: Any) -> list[str]:
    """The names of the fields that were changed, of the row and of what stands in its page."""
    parts = message if isinstance(message, list) else _read(message)
    return [str(name) for part in parts for said in part.values() for name in said.get("fields", [])]


def _read(message: Any) -> list[dict[str, dict[str, Any]]]:
    try:
        found = json.loads(message)
    except (TypeError, ValueError):
        return []
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
