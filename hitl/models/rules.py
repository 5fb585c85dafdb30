"""Standing rules: what a person decided once for calls to come, and each call that was decided by one. Both are part of
the audit: they outlive the account, without its words.
"""

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from hitl.kinds import RuleEffect, RuleScope
from hitl.models.choices import choices
from hyperagent.accounts.models import User
from hyperagent.lib.fields import ExactJSONField


class RuleQuerySet(models.QuerySet["Rule"]):
    def of(self, user: User) -> "RuleQuerySet":
        return self.filter(user=user)

    def standing(self) -> "RuleQuerySet":
        """Those that count at this moment, by the database's clock."""
        alive = models.Q(until=None) | models.Q(until__gt=Now())
        left = models.Q(max_uses=None) | models.Q(uses__lt=models.F("max_uses"))
        return self.filter(alive & left, revoked_at=None)


class Rule(models.Model):
    """`conditions`: [{"path", "op", "value"}, …], all of which have to hold; none: whatever the arguments. Once its
    person's account is erased it has no words any more, and counts no longer.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="rules")
    effect = models.CharField(max_length=8, choices=choices(RuleEffect))
    scope = models.CharField(max_length=16, choices=choices(RuleScope))
    execution_id = models.UUIDField(null=True, blank=True)
    conversation_id = models.UUIDField(null=True, blank=True)
    tool = models.CharField(max_length=120)
    agent_name = models.CharField(max_length=64, blank=True, help_text="Empty: whichever agent calls.")
    conditions: Any = ExactJSONField(default=list, blank=True)
    text = models.TextField(help_text="The rule in words, as it was shown before it was saved.")
    until = models.DateTimeField(null=True, blank=True)
    max_uses = models.PositiveIntegerField(null=True, blank=True)
    uses = models.PositiveIntegerField(default=0, db_default=0)
    made_from = models.UUIDField(null=True, blank=True, help_text="The request on whose card it was made.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    objects: ClassVar[models.Manager["Rule"]] = RuleQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=["user", "tool"], name="hitl_rule_standing", condition=models.Q(revoked_at=None)),
        )
        constraints = (
            models.CheckConstraint(
                condition=~models.Q(scope="run") | models.Q(execution_id__isnull=False), name="hitl_rule_run_named"
            ),
            models.CheckConstraint(
                condition=~models.Q(scope="conversation") | models.Q(conversation_id__isnull=False),
                name="hitl_rule_conversation_named",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_effect_display()} {self.tool} ({self.get_scope_display()})"


class RuleUse(models.Model):
    """A call that a rule decided, for the audit. `call_key` makes that a replay does not count it twice."""

    id = models.BigAutoField(primary_key=True)
    rule = models.ForeignKey(Rule, on_delete=models.PROTECT, related_name="used")
    call_key = models.CharField(max_length=128, unique=True)
    execution_id = models.UUIDField(db_index=True)
    agent_name = models.CharField(max_length=64)
    tool = models.CharField(max_length=120)
    arguments: Any = ExactJSONField()
    arguments_hash = models.CharField(max_length=64)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-at", "-id")

    def __str__(self) -> str:
        return f"{self.tool} {self.call_key}"
