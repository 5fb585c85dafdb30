"""Requests and their history. Both outlive the run and the conversation that they came from."""

import uuid
from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from hitl.kinds import RESPONDED, ApproverKind, Happening, RequestKind, RequestStatus, Risk, Stage, Via
from hitl.models.choices import choices
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Role, roles_of
from hyperagent.lib.fields import ExactJSONField


class RequestQuerySet(models.QuerySet["Request"]):
    def pending(self) -> "RequestQuerySet":
        return self.filter(status=RequestStatus.PENDING)

    def awake(self) -> "RequestQuerySet":
        """Without those that somebody put off until later."""
        return self.filter(models.Q(snoozed_until=None) | models.Q(snoozed_until__lte=Now()))

    def visible_to(self, user: User) -> "RequestQuerySet":
        """The requests that this user may see: those of their own runs, and those that name them as an approver."""
        return self.filter(models.Q(user=user) | _named(user))

    def decidable_by(self, user: User) -> "RequestQuerySet":
        """Those that this user may decide, if they are still open: the one place that says who may."""
        return self.filter(_may_decide(user, _named(user)))

    def read_by(self, user: User) -> "RequestQuerySet":
        """Those visible to this user, each with `may_decide`: whether it waits for them; and with `was_reminded`."""
        named = _named(user)
        in_time = models.Q(expires_at=None) | models.Q(expires_at__gt=Now())
        waits = models.Q(status=RequestStatus.PENDING) & in_time & _may_decide(user, named)
        may = models.Case(models.When(waits, then=True), default=False, output_field=models.BooleanField())
        seen: RequestQuerySet = self.filter(models.Q(user=user) | named).select_related("decided_by")
        reminded = Decision.objects.filter(request=models.OuterRef("pk"), happening=Happening.REMINDED)
        # As keywords the type checker takes them for second attributes.
        return seen.annotate(**{"may_decide": may, "was_reminded": models.Exists(reminded)})  # noqa: PIE804


def _named(user: User) -> models.Q:
    """That a request names this user, other than as the one whose run asks. Roles and groups are those of now: one
    query.
    """
    groups = list(user.groups.values_list("name", flat=True))
    roles = set(roles_of(is_staff=user.is_staff, groups=groups)) - {Role.USER}
    return (
        models.Q(approver_kind=ApproverKind.ROLE, approver_name__in=roles)
        | models.Q(approver_kind=ApproverKind.GROUP, approver_name__in=groups)
        | models.Q(approver_kind=ApproverKind.NAMED, approver_ids__contains=[user.pk])
    )


def _may_decide(user: User, named: models.Q) -> models.Q:
    """What a run does happens in its user's name: while they are deactivated or gone, nobody says yes for them. A
    program decides nothing, and who answers for it is not another person than it.
    """
    if user.is_service:
        return models.Q(pk__in=())
    own = models.Q(user=user, approver_kind=ApproverKind.SELF)
    owner_is_there = models.Exists(User.objects.filter(pk=models.OuterRef("user_id"), is_active=True))
    theirs = User.objects.filter(service_account__owner=user).values("pk")
    by_another = models.Q(different_person=False) | ~(models.Q(user=user) | models.Q(user__in=theirs))
    return (own | named) & by_another & models.Q(owner_is_there)


class Request(models.Model):
    """One question to a person. Runners open it (`hitl.store`); `hitl.actions.decide` alone answers it."""

    request_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    execution_id = models.UUIDField(db_index=True)
    conversation_id = models.UUIDField(null=True, blank=True, db_index=True)
    agent_id = models.UUIDField()
    agent_name = models.CharField(max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="requests")
    kind = models.CharField(max_length=16, choices=choices(RequestKind))
    stage = models.CharField(max_length=8, blank=True, db_default="", default="", choices=choices(Stage))
    question = ExactJSONField()
    tool_names = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    task_description = models.TextField(blank=True, default="")
    risk = models.CharField(max_length=8, blank=True, db_default="", default="", choices=choices(Risk))
    arguments_hash = models.CharField(
        max_length=64, blank=True, db_default="", default="", help_text="Of the tool and the arguments that were shown."
    )
    status = models.CharField(max_length=16, default=RequestStatus.PENDING, choices=choices(RequestStatus))
    answer = ExactJSONField(null=True, blank=True)
    edited_arguments = ExactJSONField(null=True, blank=True, help_text="In place of those that were asked about.")
    user_instructions = models.TextField(blank=True, default="")

    approver_kind = models.CharField(
        max_length=8, db_default=ApproverKind.SELF, default=ApproverKind.SELF, choices=choices(ApproverKind)
    )
    approver_name = models.CharField(max_length=150, blank=True, db_default="", default="")
    approver_ids = ArrayField(models.UUIDField(), default=list, blank=True, db_default=[])
    different_person = models.BooleanField(
        default=False, db_default=False, help_text="Whoever's run it is may not decide."
    )

    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    decided_via = models.CharField(max_length=8, blank=True, db_default="", default="", choices=choices(Via))
    created_at = models.DateTimeField(default=timezone.now)
    announced_at = models.DateTimeField(null=True, blank=True, help_text="When those who may decide were told.")
    remind_at = models.DateTimeField(null=True, blank=True)
    reminded_at = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    responded_at = models.DateTimeField(null=True, blank=True)
    """When it ended, by whatever: see `answered_at`."""
    expires_at = models.DateTimeField(null=True, blank=True)
    timeout_told_at = models.DateTimeField(
        null=True, blank=True, help_text="When its user was told that nobody answered in time."
    )

    may_decide = False
    """Of the reader for whom `read_by` read it."""
    was_reminded = False
    """Whether people were reminded of it, as `read_by` read it."""

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
            models.Index(fields=["user", "-created_at", "request_id"], name="hitl_request_of_user"),
            models.Index(fields=["-created_at", "request_id"], name="hitl_request_newest"),
            models.Index(fields=["expires_at"], name="hitl_request_expiry", condition=models.Q(status="pending")),
            models.Index(
                fields=["remind_at"],
                name="hitl_request_reminder",
                condition=models.Q(status="pending", remind_at__isnull=False, reminded_at__isnull=True),
            ),
            models.Index(
                fields=["created_at"],
                name="hitl_request_unannounced",
                condition=models.Q(status="pending", announced_at__isnull=True),
            ),
            models.Index(
                fields=["responded_at"],
                name="hitl_request_timeout_untold",
                condition=models.Q(status="timed_out", timeout_told_at__isnull=True),
            ),
            models.Index(
                fields=["approver_kind", "approver_name"],
                name="hitl_request_for_others",
                condition=models.Q(status="pending") & ~models.Q(approver_kind="self"),
            ),
            # What is over, too: without it, everybody's inbox is a reading through all requests that there are.
            models.Index(
                fields=["approver_kind", "approver_name", "-created_at"],
                name="hitl_request_by_approver",
                condition=~models.Q(approver_kind="self"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.request_id} ({self.get_status_display()})"

    @property
    def answered_at(self) -> datetime | None:
        """When a person answered; None where its time or its run ended it."""
        return self.responded_at if self.status in RESPONDED else None


class Decision(models.Model):
    """One row for whatever became of a request: who, when, by which door, and what they said. Never changed."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(Request, on_delete=models.PROTECT, related_name="decisions")
    happening = models.CharField(max_length=16, choices=choices(Happening))
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor_name = models.CharField(max_length=254, blank=True, help_text="The e-mail address at that time.")
    via = models.CharField(max_length=8, choices=choices(Via))
    note = models.TextField(blank=True, help_text="Instructions or reason, as given.")
    details: Any = ExactJSONField(default=dict, blank=True)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("-at", "-id")
        indexes = (
            models.Index(fields=["-at", "-id"], name="hitl_decision_newest"),
            models.Index(fields=["actor", "-at"], name="hitl_decision_by_actor"),
        )
        constraints = (
            models.CheckConstraint(
                condition=models.Q(happening__in=list(Happening)), name="hitl_decision_happening_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_happening_display()} {self.request_id}"
