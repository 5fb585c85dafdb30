"""The tables of schedules and of what came of their times. Written by `actions` and `starting`."""

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.models import Execution
from conversations.schedules.cron import parsed
from conversations.schedules.kinds import (
    CRON_CHARS,
    LEAST_APART_S,
    TITLE_CHARS,
    ApprovalRule,
    Cause,
    Kind,
    Outcome,
    PausedWhy,
    SkippedWhy,
    State,
    Talk,
    WhenMissed,
)
from conversations.schedules.times import Cron, Every, Once, Rhythm
from memory.models import Project

if TYPE_CHECKING:
    from hyperagent.accounts.models import User

_MESSAGE_CHARS = 1_000


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    def of(self, user: "User") -> "ScheduleQuerySet":
        return self.filter(user=user)

    def active(self) -> "ScheduleQuerySet":
        return self.filter(paused_at=None, ended_at=None)

    def due(self) -> "ScheduleQuerySet":
        """By the database's clock."""
        return self.filter(next_due_at__lte=Now())


class Schedule(models.Model):
    """A question that is asked by itself. Which of `at`, `every_s` and `cron` counts is `kind`'s to say."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules", db_index=False
    )
    title = models.CharField(max_length=TITLE_CHARS)
    question = models.TextField()
    mode = models.CharField(max_length=32, blank=True)
    kind = models.CharField(max_length=8, choices=[(kind.value, kind.value) for kind in Kind])
    at = models.DateTimeField(null=True, blank=True)
    every_s = models.PositiveIntegerField(null=True, blank=True)
    cron = models.CharField(max_length=CRON_CHARS, blank=True)
    time_zone = models.CharField(max_length=64, help_text="Its name in the tz database.")
    counts_from = models.DateTimeField(help_text="Where the pauses of `every_s` begin.")
    ends_at = models.DateTimeField(null=True, blank=True, help_text="Nothing comes after.")
    talk = models.CharField(max_length=8, choices=[(talk.value, talk.value) for talk in Talk])
    conversation = models.ForeignKey(
        "conversations.Conversation",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The one in which all is asked; where there is none, the next run begins it.",
    )
    project = models.ForeignKey(Project, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    document_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    on_approval = models.CharField(max_length=16, choices=[(rule.value, rule.value) for rule in ApprovalRule])
    preapproved = models.JSONField(default=list, blank=True, help_text="Tools, each with conditions on its arguments.")
    when_missed = models.CharField(
        max_length=8,
        choices=[(way.value, way.value) for way in WhenMissed],
        default=WhenMissed.ONCE,
        db_default=WhenMissed.ONCE.value,
        help_text="What becomes of times that came while nothing ran here.",
    )
    next_due_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_why = models.CharField(max_length=16, blank=True, choices=[(why.value, why.value) for why in PausedWhy])
    resumed_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last set going again: what failed before counts no more."
    )
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Since when no time is to come.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["Schedule"]] = ScheduleQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(
                condition=Q(kind=Kind.ONCE.value, at__isnull=False)
                | Q(kind=Kind.EVERY.value, every_s__gte=LEAST_APART_S)
                | (Q(kind=Kind.CRON.value) & ~Q(cron="")),
                name="conversations_schedule_has_its_times",
            ),
            models.CheckConstraint(
                condition=Q(talk__in=[talk.value for talk in Talk]), name="conversations_schedule_talk_known"
            ),
            models.CheckConstraint(
                condition=Q(on_approval__in=[rule.value for rule in ApprovalRule]),
                name="conversations_schedule_rule_known",
            ),
            models.CheckConstraint(
                condition=Q(when_missed__in=[way.value for way in WhenMissed]),
                name="conversations_schedule_missed_known",
            ),
            models.CheckConstraint(
                condition=Q(next_due_at__isnull=False, paused_at=None, ended_at=None)
                | Q(next_due_at=None, paused_at__isnull=False)
                | Q(next_due_at=None, ended_at__isnull=False),
                name="conversations_schedule_due_if_active",
            ),
        )
        indexes = (
            models.Index(fields=["user", "-created_at", "-id"], name="conversations_schedule_of_user"),
            models.Index(fields=["-created_at", "-id"], name="conversations_schedule_newest"),
            models.Index(
                fields=["next_due_at"], name="conversations_schedule_due", condition=Q(next_due_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        # Not the title: it is made of what somebody asks, and this stands in logs and on admin pages.
        return str(self.pk)

    @property
    def state(self) -> State:
        if self.ended_at is not None:
            return State.OVER
        return State.PAUSED if self.paused_at is not None else State.ACTIVE

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @property
    def rhythm(self) -> Rhythm:
        match Kind(self.kind):
            case Kind.ONCE:
                assert self.at is not None
                return Once(self.at)
            case Kind.EVERY:
                assert self.every_s is not None
                return Every(self.counts_from, self.every_s)
            case Kind.CRON:
                return Cron(parsed(self.cron), self.zone)

    def local(self, moment: datetime) -> datetime:
        """As a clock in its time zone shows it."""
        return moment.astimezone(self.zone)


class ScheduledRun(models.Model):
    """A time that came, and what came of it. There is one row for each time, however often it is looked at."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs", db_index=False)
    due_at = models.DateTimeField()
    cause = models.CharField(max_length=8, choices=[(cause.value, cause.value) for cause in Cause])
    missed = models.PositiveIntegerField(default=0, help_text="Later times that this one stands for too.")
    outcome = models.CharField(max_length=8, choices=[(outcome.value, outcome.value) for outcome in Outcome])
    skipped_why = models.CharField(max_length=16, blank=True, choices=[(why.value, why.value) for why in SkippedWhy])
    refusal = models.CharField(max_length=_MESSAGE_CHARS, blank=True, help_text="Why it could not be asked, in words.")
    execution = models.OneToOneField(Execution, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    conversation = models.ForeignKey(
        "conversations.Conversation", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["ScheduledRun"]] = models.Manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=["schedule", "due_at"], name="conversations_scheduledrun_once"),
            models.CheckConstraint(
                condition=Q(outcome=Outcome.SKIPPED.value) | Q(skipped_why=""),
                name="conversations_scheduledrun_skip_said",
            ),
        )
        indexes = (
            models.Index(fields=["schedule", "-created_at", "-id"], name="conversations_scheduledrun_of"),
            models.Index(fields=["-created_at", "-id"], name="conversations_scheduledrun_new"),
        )

    def __str__(self) -> str:
        return f"{self.schedule_id} {self.due_at.isoformat()}"
