"""What is remembered of a person, where it came from, and where it was used. Extraction and recall are not here."""

import uuid
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from memory.kinds import MemoryKind, MemoryStatus

if TYPE_CHECKING:
    from hyperagent.accounts.models import User


class MemoryQuerySet(models.QuerySet["Memory"]):
    def of(self, user: "User") -> "MemoryQuerySet":
        return self.filter(user=user)

    def active(self) -> "MemoryQuerySet":
        """What prompts may see."""
        return self.filter(status=MemoryStatus.ACTIVE)


class Memory(models.Model):
    """Something known of a person. Nobody but this person ever sees it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memories")
    kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in MemoryKind])
    field = models.CharField(max_length=32, blank=True, help_text="Which field of the profile it fills, if one.")
    text = models.TextField(help_text="A sentence; of a field, its value.")
    status = models.CharField(
        max_length=16, default=MemoryStatus.ACTIVE, choices=[(kind.value, kind.value) for kind in MemoryStatus]
    )
    reason = models.TextField(blank=True, help_text="Why it is quarantined or superseded, a sentence for people.")
    superseded_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="supersedes"
    )
    replaces = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="While it is quarantined: what it supersedes once its owner accepts it.",
    )
    is_pinned = models.BooleanField(default=False, help_text="Told in every run; never superseded by itself.")
    corrected_at = models.DateTimeField(null=True, blank=True, help_text="When its owner last wrote it themselves.")
    said_at = models.DateTimeField(default=timezone.now, help_text="When its source was said.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    source_conversation = models.UUIDField(null=True, blank=True)
    source_execution = models.UUIDField(null=True, blank=True)
    source_turn = models.CharField(
        max_length=100, blank=True, help_text="The message's id, or what an import calls it."
    )
    source_excerpt = models.TextField(blank=True, help_text="The words that it was made of.")
    terms = ArrayField(
        models.CharField(max_length=64), default=list, help_text="What it is found by (memory.remembering.sameness)."
    )
    origin_key = models.CharField(max_length=100, help_text="Names the finding: found twice, it is stored once.")
    last_used_at = models.DateTimeField(null=True, blank=True)
    times_used = models.IntegerField(default=0)
    embedded_by = models.CharField(max_length=100, blank=True, help_text="The model of `embedding`; empty: none yet.")
    embedding = HalfVectorField(null=True, blank=True)

    objects: ClassVar[models.Manager["Memory"]] = MemoryQuerySet.as_manager()

    class Meta:
        ordering = ("-is_pinned", "-said_at", "id")
        verbose_name_plural = "memories"
        constraints = (
            models.UniqueConstraint(fields=["user", "origin_key"], name="memory_memory_found_once"),
            models.CheckConstraint(condition=models.Q(kind__in=list(MemoryKind)), name="memory_memory_kind_known"),
            models.CheckConstraint(
                condition=models.Q(status__in=list(MemoryStatus)), name="memory_memory_status_known"
            ),
        )
        indexes = (
            models.Index(fields=["user", "status", "-said_at"], name="memory_memory_of_user"),
            models.Index(
                fields=["embedded_by"],
                condition=models.Q(status__in=["active", "quarantined"]) & ~models.Q(text=""),
                name="memory_memory_by_model",
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class MemoryUse(models.Model):
    """A receipt: this memory was told to the agents of this run, and why."""

    id = models.BigAutoField(primary_key=True)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="uses")
    execution = models.UUIDField()
    conversation = models.UUIDField(null=True, blank=True)
    why = models.CharField(max_length=200, help_text="A sentence for people: profile, pinned, or what it fits.")
    score = models.FloatField(default=0, help_text="0..1, higher fits better.")
    used_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("-used_at", "-id")
        constraints = (models.UniqueConstraint(fields=["memory", "execution"], name="memory_use_once_a_run"),)

    def __str__(self) -> str:
        return f"{self.memory_id} in {self.execution}"


class MemorySwitch(models.Model):
    """Whether this person is remembered at all. Without a row, they are."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE)
    is_on = models.BooleanField(default=True)
    changed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.user_id}: {'on' if self.is_on else 'off'}"
