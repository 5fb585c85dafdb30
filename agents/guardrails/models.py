"""What the guardrails found, for those who look after them. Written by `agents.runtime.store` with the event that told
people; only what somebody says of a row changes it.
"""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from agents.guardrails.reporting import Act
from agents.guardrails.scanner import Certainty, Place
from agents.models import Execution


class Feedback(models.TextChoices):
    NONE = "", _("none yet")
    RIGHT = "right", _("right")
    WRONG = "wrong", _("wrong")


class Verdict(models.Model):
    """A part of a verdict (`agents.guardrails.reporting.FindingSummary`): what one scanner found of one kind in a text
    or call. It goes with its run."""

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="verdicts", db_index=False)
    seq = models.PositiveBigIntegerField(help_text="The number of the event that told people.")
    agent_id = models.UUIDField(null=True)
    agent_name = models.CharField(max_length=64, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    conversation_id = models.UUIDField(null=True)
    place = models.CharField(max_length=16, choices=[(place.value, place.value) for place in Place])
    scanner = models.CharField(max_length=64)
    kind = models.CharField(max_length=64)
    certainty = models.CharField(
        max_length=16, blank=True, choices=[(certainty.value, certainty.value) for certainty in Certainty]
    )
    action = models.CharField(max_length=16, choices=[(act.value, act.value) for act in Act])
    reason = models.CharField(max_length=300)
    excerpt = models.CharField(max_length=200, help_text="A short part of the text, without the values in it.")
    tool = models.CharField(max_length=64, blank=True)
    count = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    feedback = models.CharField(max_length=8, choices=Feedback.choices, blank=True, default="", db_default="")
    feedback_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    feedback_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Verdict"]] = models.Manager()

    class Meta:
        app_label = "agents"
        verbose_name = _("guardrail verdict")
        verbose_name_plural = _("Guardrails › Verdicts")
        ordering = ("-created_at", "-id")
        permissions = (("judge_verdict", "Can say whether a guardrail was right"),)
        constraints = (
            models.UniqueConstraint(fields=["execution", "seq"], name="agents_verdict_of_event"),
            models.CheckConstraint(condition=models.Q(feedback__in=Feedback.values), name="agents_verdict_feedback"),
        )
        indexes = (
            models.Index(fields=["-created_at", "-id"], name="agents_verdict_newest"),
            models.Index(fields=["user", "-created_at"], name="agents_verdict_by_user"),
            models.Index(
                fields=["scanner", "feedback"], name="agents_verdict_judged", condition=~models.Q(feedback="")
            ),
        )

    def __str__(self) -> str:
        return f"{self.scanner} {self.kind} ({self.get_action_display()})"
