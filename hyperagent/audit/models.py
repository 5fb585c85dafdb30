"""The audit log's tables. The database keeps them from being changed (see the first migration); what an event means,
and how the chain of hashes is made, is not known here.
"""

import uuid
from typing import ClassVar, Final

from django.db import models
from django.db.models.functions import Now

NAME_CHARS: Final = 254
_SEALED: Final = models.Q(number__isnull=False)


class AuditEventQuerySet(models.QuerySet["AuditEvent"]):
    def sealed(self) -> "AuditEventQuerySet":
        """Those that have their place in the log. All others get it within a minute, or when somebody reads."""
        return self.filter(_SEALED)


class AuditEvent(models.Model):
    """Something that somebody did, or tried. Written once; afterwards only its place in the log is added, and names go
    when an account ends.
    """

    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField(null=True, unique=True, help_text="Its place in the log, without gaps.")
    at = models.DateTimeField("time", db_default=Now())
    kind = models.CharField(max_length=40)
    actor_id = models.UUIDField(null=True, help_text="Who did it. Empty: a stranger, or the house itself.")
    actor_name = models.CharField("who", max_length=NAME_CHARS, blank=True, help_text="Their name as it was.")
    target_type = models.CharField("of what", max_length=60, blank=True)
    target_id = models.CharField(max_length=200, blank=True)
    target_name = models.CharField("to what", max_length=NAME_CHARS, blank=True, help_text="Its name as it was.")
    address = models.CharField(max_length=64, blank=True, help_text="Where the request came from.")
    browser = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=64, blank=True, help_text="The same as in the server's log.")
    details = models.JSONField(default=dict)
    # SHA-256 of the salt and the names: what the chain holds in their place. Without its salt it says nothing.
    actor_salt = models.BinaryField(max_length=16, null=True)
    actor_digest = models.BinaryField(max_length=32)
    target_salt = models.BinaryField(max_length=16, null=True)
    target_digest = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32, null=True)

    objects = AuditEventQuerySet.as_manager()

    class Meta:
        db_table = "audit_event"
        verbose_name = "audit event"
        ordering = ("-number",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(number=None, hash=None) | models.Q(number__gt=0, hash__isnull=False),
                name="audit_event_sealed_whole",
            ),
        )
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=("id",), name="audit_event_unsealed", condition=models.Q(number=None)),
            *(
                models.Index(fields=(field, "-number"), name=f"audit_event_by_{field}"[:30], condition=_SEALED)
                for field in ("kind", "actor_id", "target_id", "request_id", "address", "at")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number or '–'} {self.kind}"


class AuditHead(models.Model):
    """How far the log is sealed, in one row; whoever seals holds it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    number = models.BigIntegerField()
    hash = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_head"
        constraints = (models.CheckConstraint(condition=models.Q(id=1), name="audit_head_one_row"),)

    def __str__(self) -> str:
        return str(self.number)


class AuditCut(models.Model):
    """The log begins after this number: what stood before was deleted when its time was over."""

    number = models.BigIntegerField(primary_key=True)
    hash = models.BinaryField(max_length=32, help_text="Of the last event that was deleted.")
    at = models.DateTimeField(db_default=Now())
    kept_days = models.PositiveIntegerField()

    class Meta:
        db_table = "audit_cut"

    def __str__(self) -> str:
        return str(self.number)


class AuditOutflow(models.Model):
    """How far one destination outside has been told, and whether it is left alone for a while because it failed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    destination = models.CharField(max_length=64, unique=True, help_text="'stdout', or the SHA-256 of an address.")
    number = models.BigIntegerField(default=0)
    until = models.BigIntegerField(null=True, help_text="The end of the batch that is tried again.")
    tries = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(db_default=Now())
    delivered_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        db_table = "audit_outflow"

    def __str__(self) -> str:
        return self.destination
