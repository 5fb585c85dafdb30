"""What people are asked, and what they answered. A request outlives the run and the conversation that it came from."""

import uuid
from enum import StrEnum
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from hyperagent.accounts.models import User
from hyperagent.lib.fields import ExactJSONField


class RequestKind(StrEnum):
    APPROVAL = "approval"
    DECISION = "decision"
    INPUT = "input"
    PLAN = "plan"
    BUDGET = "budget"


class RequestStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class RequestQuerySet(models.QuerySet["Request"]):
    def pending(self) -> "RequestQuerySet":
        return self.filter(status=RequestStatus.PENDING)

    def visible_to(self, user: User) -> "RequestQuerySet":
        """The requests that this user may see and decide: those of their own runs."""
        return self.filter(user=user)


class Request(models.Model):
    """One question to a person. Runners open it (`hitl.store`); `hitl.actions.decide` alone answers it."""

    request_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    execution_id = models.UUIDField(db_index=True)
    conversation_id = models.UUIDField(null=True, blank=True, db_index=True)
    agent_id = models.UUIDField()
    agent_name = models.CharField(max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="requests")
    kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in RequestKind])
    question = ExactJSONField()
    tool_names = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    task_description = models.TextField(blank=True, default="")
    status = models.CharField(
        max_length=16,
        default=RequestStatus.PENDING,
        choices=[(status.value, status.value) for status in RequestStatus],
    )
    answer = ExactJSONField(null=True, blank=True)
    user_instructions = models.TextField(blank=True, default="")
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    responded_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Request"]] = RequestQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.CheckConstraint(condition=models.Q(kind__in=list(RequestKind)), name="hitl_request_kind_known"),
            models.CheckConstraint(
                condition=models.Q(status__in=list(RequestStatus)), name="hitl_request_status_known"
            ),
        )
        indexes = (
            models.Index(
                fields=["user", "-created_at"], name="hitl_request_pending", condition=models.Q(status="pending")
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.request_id} ({self.status})"
