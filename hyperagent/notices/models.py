"""Endpoints of webhooks and what was sent to them; mails to people, and which of them each person wants.

Written by `actions`, and by `delivering` and `mailing`, which send. The rows are the truth; jobs carry their ids.
"""

import uuid
from collections.abc import Collection
from typing import ClassVar
from urllib.parse import urlsplit

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from hyperagent.accounts.models import User
from hyperagent.lib.fields import ExactJSONField
from hyperagent.lib.outgoing_mails import WAITING, Outgoing
from hyperagent.notices.kinds import CHOOSABLE, OPEN, DeliveryStatus, EventType, MailKind

HEAD_CHARS = 500
"""How much of an answer, or of an error, is kept."""


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def visible_to(self, user: User, *, installation: bool) -> "EndpointQuerySet":
        """One's own; with `installation`, which is an administrator's, those of the installation as well."""
        of_everybody = Q(user=None) if installation else Q(pk__in=())
        return self.filter(Q(user=user) | of_everybody, deleted_at=None)

    def listening(self, event_type: EventType, user_ids: Collection[uuid.UUID]) -> "EndpointQuerySet":
        """Those that are told of such an event in the affairs of these people."""
        whose = Q(user=None) | Q(user_id__in=user_ids, user__is_active=True)
        return self.filter(whose, events__contains=[event_type.value], deleted_at=None, disabled_at=None)


class Endpoint(models.Model):
    """An address that gets webhooks: a person's, who is told of their own affairs, or the installation's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        User,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="webhooks",
        help_text="Empty: it is the installation's, and is told of everybody's events.",
    )
    url = models.TextField()
    events = ArrayField(models.CharField(max_length=40, choices=[(kind.value, kind.value) for kind in CHOOSABLE]))
    secret_sealed = models.TextField(editable=False, help_text="Encrypted with a key derived from SECRET_KEY.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_why = models.CharField(max_length=HEAD_CHARS, blank=True, help_text="Empty: a person switched it off.")
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="Its log is kept for a while.")
    failing_since = models.DateTimeField(null=True, blank=True, help_text="The first failure since a success.")
    resting_until = models.DateTimeField(null=True, blank=True, help_text="Nothing is tried before, because it failed.")

    objects: ClassVar[models.Manager["Endpoint"]] = EndpointQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(
                condition=Q(events__contained_by=[kind.value for kind in CHOOSABLE]) & Q(events__len__gt=0),
                name="notices_endpoint_events_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.host} ({_('the installation') if self.is_installations else _('a person')})"

    @property
    def host(self) -> str:
        """All that others than its owner need to see: the rest of an address may be a secret of the receiver's."""
        return urlsplit(self.url).netloc

    @property
    def enabled(self) -> bool:
        return self.disabled_at is None and self.deleted_at is None

    @property
    def is_installations(self) -> bool:
        return self.user_id is None


class Delivery(models.Model):
    """One event for one endpoint, and what came of it. At least once, always under the same id."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event_id = models.CharField(max_length=40, help_text="The same for every endpoint and every try.")
    type = models.CharField(max_length=40, choices=[(kind.value, kind.value) for kind in EventType])
    payload = ExactJSONField(help_text="The body, as it is sent.")
    status = models.CharField(
        max_length=16,
        default=DeliveryStatus.PENDING,
        choices=[(status.value, status.value) for status in DeliveryStatus],
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    last_status_code = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=HEAD_CHARS, blank=True)
    response_head = models.CharField(max_length=HEAD_CHARS, blank=True, help_text="What the receiver said. Untrusted.")
    next_attempt_at = models.DateTimeField(db_default=Now(), help_text="While it is open: not tried before.")
    last_attempt_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    delivered_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Delivery"]] = models.Manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name_plural = "deliveries"
        constraints = (
            models.UniqueConstraint(fields=("endpoint", "event_id"), name="notices_delivery_once"),
            models.CheckConstraint(condition=Q(status__in=list(DeliveryStatus)), name="notices_delivery_status_known"),
        )
        indexes = (
            models.Index(fields=("endpoint", "-created_at", "-id"), name="notices_delivery_newest"),
            models.Index(fields=("-created_at", "-id"), name="notices_delivery_newest_of_all"),
            models.Index(
                fields=("endpoint", "created_at", "id"),
                name="notices_delivery_oldest_open",
                condition=Q(status__in=[*map(str, OPEN)]),
            ),
            models.Index(
                fields=("next_attempt_at",), name="notices_delivery_due", condition=Q(status__in=[*map(str, OPEN)])
            ),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.event_id} ({self.get_status_display()})"

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


class Mail(Outgoing):
    """One mail to one person about one thing, and whether it went out."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=40, choices=[(kind.value, kind.value) for kind in MailKind])
    subject_id = models.CharField(max_length=100, help_text="What it is about, such as a request's id.")
    title = models.CharField(max_length=200, blank=True)
    facts = ExactJSONField(default=list, help_text="Pairs of a label and a text.")
    path = models.CharField(max_length=500, help_text="Where the link leads, on this site.")

    objects: ClassVar[models.Manager["Mail"]] = models.Manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (models.UniqueConstraint(fields=("user", "kind", "subject_id"), name="notices_mail_once"),)
        indexes = (
            models.Index(fields=("next_attempt_at",), name="notices_mail_due", condition=WAITING),
            models.Index(fields=("-created_at", "-id"), name="notices_mail_newest"),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.subject_id}"


class Preference(models.Model):
    """Whether a person wants mails of a kind. No row: as `ON_BY_DEFAULT` says."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=40, choices=[(kind.value, kind.value) for kind in MailKind])
    wanted = models.BooleanField()

    objects: ClassVar[models.Manager["Preference"]] = models.Manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "kind"), name="notices_preference_once"),)

    def __str__(self) -> str:
        return f"{self.kind}: {'yes' if self.wanted else 'no'}"
