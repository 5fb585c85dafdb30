"""A row of every table that the admin has pages for, with the words that a test wants in every column of text."""

import uuid
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from hyperagent.accounts.models import User

# What the database's constraints want beyond the kinds of columns.
EXACTLY: dict[str, dict[str, Any]] = {
    "audit.AuditEvent": {"number": None, "hash": None},
    "agents.Execution": {"forked_from": None, "result": None},
    "agents.AgentTuning": {"agent": "chat"},
    "agents.McpServer": {"owner": None},
    "conversations.Message": {"execution": None, "parent": None},
    "conversations.Schedule": {"paused_at": None, "cron": "0 9 * * *", "time_zone": "UTC"},
    "conversations.ScheduledRun": {"outcome": "skipped"},
    "hitl.Switch": {"scope": "tool", "lifted_at": None},
    "memory.WorkspaceFile": {"project": None},
    "memory.Memory": {"superseded_by": None},
    "accounts.User": {"is_active": True},
    "accounts.Budget": {"whose": "user", "group": None},
    "accounts.UserQuota": {"group": None},
    "accounts.Letter": {"kind": "invitation", "user": None},
}


def registered() -> list[type[models.Model]]:
    return sorted(admin.site._registry, key=lambda model: model._meta.label)


class Rows:
    """`of(model)`: its row, made at the first call, with those that it refers to."""

    def __init__(self, words: str, *, owner: Any = None) -> None:
        self._words = words
        self._made: dict[type[models.Model], Any] = {User: owner} if owner else {}

    def of(self, model: Any) -> Any:
        if model not in self._made:
            fields = [field for field in model._meta.concrete_fields if not self._is_made_by_database(field)]
            values = {field.name: self._value(field) for field in fields}
            self._made[model] = model._base_manager.create(**(values | EXACTLY.get(model._meta.label, {})))
        return self._made[model]

    def _is_made_by_database(self, field: Any) -> bool:
        return isinstance(field, models.AutoField | models.BigAutoField)

    def _value(self, field: Any) -> Any:
        if isinstance(field, models.ForeignKey):
            is_own = field.related_model is field.model
            return None if is_own else self.of(field.related_model)
        return self._simple(field)

    def _simple(self, field: Any) -> Any:
        if isinstance(field, ArrayField):
            return [self._simple(field.base_field)]
        if field.choices:
            return next(value for value, _ in field.flatchoices if value)
        makers: dict[Any, Any] = {
            models.UUIDField: uuid.uuid4,
            models.JSONField: lambda: {self._words: [self._words]},
            models.EmailField: lambda: f"{self._words}{uuid.uuid4().hex[:6]}@example.org",
            models.CharField: lambda: self._fitting(field),
            models.TextField: lambda: self._words,
            models.BooleanField: lambda: False,
            models.BinaryField: lambda: bytes(32),
            models.DateTimeField: lambda: self._moment(field),
            models.DateField: lambda: timezone.now().date(),
            models.DecimalField: lambda: Decimal(1),
            models.FloatField: lambda: 1.0,
            models.IntegerField: lambda: 1,
        }
        return next(make() for kind, make in makers.items() if isinstance(field, kind))

    def _fitting(self, field: Any) -> str:
        """Of what has to be unique, its end as well."""
        most = field.max_length or 10_000
        unique = field.unique or field.primary_key
        return (self._words + uuid.uuid4().hex)[-most:] if unique else self._words[:most]

    def _moment(self, field: Any) -> Any:
        is_end = field.null and field.name in ("ended_at", "deleted_at", "lifted_at", "revoked_at")
        return None if is_end else timezone.now() - timedelta(minutes=5)
