"""The tables of sandboxes: which boxes there are and were, and what was kept of them. Knows no box."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from agents.sandbox.base import BoxType


class EndedBecause(models.TextChoices):
    IDLE = "idle", "nobody used it any more"
    CLEANUP = "cleanup", "it was given back"
    DRAINED = "drained", "its host was stopped"
    ROOM = "room", "its place was needed"
    MOVED = "moved", "another machine goes on with it"
    REMOVED = "removed", "its conversation or its user is gone"
    LOST = "lost", "it went away with its host, or by itself"


class CloseWanted(models.TextChoices):
    """What others ask of whoever holds a box: to keep what is in it and close it, or to forget all of it."""

    NO = "", "no"
    CLOSE = "close", "close"
    REMOVE = "remove", "remove"


class SandboxSession(models.Model):
    """A box in its time: whose it is, where it was held, and why it ended. Kept for the audit."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    task_id = models.UUIDField(help_text="The conversation, or the run where it belongs to none.")
    sandbox_type = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in BoxType])
    key = models.CharField(max_length=120, help_text="unified:<user>:<task>; a desktop has one of its own.")
    provider = models.CharField(max_length=16)
    host = models.CharField(max_length=255, help_text="The machine, and which installation on it.")
    opened_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_because = models.CharField(max_length=16, blank=True, choices=EndedBecause.choices)
    close_wanted = models.CharField(max_length=8, blank=True, default="", choices=CloseWanted.choices)
    runs = models.PositiveIntegerField(default=0)
    used_seconds = models.FloatField(default=0, help_text="How long programs ran in it.")
    used_by_hour = models.JSONField(
        default=dict,
        db_default={},
        help_text="The same of its last day, by hours since 1970. What ran before is not in it.",
    )
    note = models.TextField(blank=True, help_text="What could not be kept of it, and why.")

    class Meta:
        app_label = "agents"
        ordering = ("-opened_at", "id")
        constraints = (
            models.UniqueConstraint(
                fields=["key"], condition=models.Q(ended_at__isnull=True), name="agents_sandbox_one_open"
            ),
        )
        indexes = (
            models.Index(fields=["user", "-opened_at"], name="agents_sandbox_by_user"),
            models.Index(
                fields=["host"], condition=models.Q(ended_at__isnull=True), name="agents_sandbox_open_by_host"
            ),
            models.Index(fields=["task_id"], name="agents_sandbox_by_task"),
            models.Index(fields=["-opened_at", "id"], name="agents_sandbox_newest"),
        )

    def __str__(self) -> str:
        return f"{self.key} ({self.get_ended_because_display() or _('open')})"


class SandboxSnapshot(models.Model):
    """The newest copy of what lay in a box, for the next box of the same user, task and kind. The bytes lie in Django's
    file storage."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    task_id = models.UUIDField()
    sandbox_type = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in BoxType])
    stored_as = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "agents"
        ordering = ("-made_at", "id")
        constraints = (
            models.UniqueConstraint(fields=["user", "task_id", "sandbox_type"], name="agents_snapshot_newest_only"),
        )
        indexes = (
            models.Index(fields=["made_at"], name="agents_snapshot_by_age"),
            models.Index(fields=["-made_at", "id"], name="agents_snapshot_newest"),
            models.Index(fields=["task_id"], name="agents_snapshot_by_task"),
        )

    def __str__(self) -> str:
        return f"{self.get_sandbox_type_display()} {self.task_id}"
