"""Projects: what several people work on together. Their conversations stand in `conversations`."""

import uuid
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.kinds import ConnectorKind
from memory.models.documents import Document

if TYPE_CHECKING:
    from hyperagent.accounts.models import User


class ProjectQuerySet(models.QuerySet["Project"]):
    def seen_by(self, user: "User") -> "ProjectQuerySet":
        """Those that this user is a member of; the owner always is one."""
        return self.filter(members=user)


class Project(models.Model):
    """Members see its documents and add their own; the owner changes its name, instructions and members."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="owned_projects")
    name = models.CharField(max_length=120)
    instructions = models.TextField(blank=True, help_text="What every agent is told in its conversations.")
    is_inherited = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether an earlier owner wrote the instructions; until the owner saves some.",
    )
    members: "models.ManyToManyField[User, models.Model]" = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="projects"
    )
    documents: "models.ManyToManyField[Document, models.Model]" = models.ManyToManyField(
        Document, blank=True, related_name="projects"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[models.Manager["Project"]] = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ("name", "created_at")

    def __str__(self) -> str:
        return str(self.id)


class ConnectorQuerySet(models.QuerySet["Connector"]):
    def of(self, user: "User") -> "ConnectorQuerySet":
        """Those that this user made; nobody else sees them, and nobody one that is being deleted."""
        return self.filter(owner=user, is_leaving=False)


class Connector(models.Model):
    """A place outside that is looked at again and again, and whose files become documents of its owner.

    It is due `pause_s` after `looked_at`. Whoever looks holds it until `looking_until`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connectors")
    kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in ConnectorKind])
    location = models.TextField(help_text="A folder's path, or an address.")
    every_s = models.IntegerField(default=3600)
    is_on = models.BooleanField(default=True)
    is_leaving = models.BooleanField(
        default=False, db_default=False, help_text="It was deleted with its documents, which go lot by lot."
    )
    looked_at = models.DateTimeField(null=True, blank=True)
    pause_s = models.IntegerField(default=0, help_text="Until the next look: longer than `every_s` after failures.")
    round_began_at = models.DateTimeField(
        null=True, blank=True, help_text="Of a look that takes several turns: when its first began."
    )
    looking_until = models.DateTimeField(null=True, blank=True, help_text="Until when whoever looks may go on alone.")
    result = models.TextField(blank=True, help_text="What became of the last look, a sentence for people.")
    is_failing = models.BooleanField(default=False)
    failures = models.IntegerField(default=0, help_text="In a row.")
    device = models.BigIntegerField(
        null=True, blank=True, help_text="Of a folder: the disk it lay on when its files were seen last."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[models.Manager["Connector"]] = ConnectorQuerySet.as_manager()

    class Meta:
        ordering = ("created_at",)
        constraints = (
            models.UniqueConstraint(fields=["owner", "kind", "location"], name="memory_connector_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=list(ConnectorKind)), name="memory_connector_kind_known"
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class ConnectorItem(models.Model):
    """One file or page of a connector, and what it became. `successor`: its newer version, not found by any search yet;
    it takes the place of `document` as soon as it is."""

    id = models.BigAutoField(primary_key=True)
    connector = models.ForeignKey(Connector, on_delete=models.CASCADE, related_name="items")
    place = models.TextField(help_text="A path within the folder, or an address.")
    place_key = models.CharField(max_length=64, help_text="SHA-256 of the place, in hexadecimal digits.")
    document = models.ForeignKey(
        Document, null=True, blank=True, on_delete=models.SET_NULL, related_name="connector_items"
    )
    successor = models.ForeignKey(Document, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    marks = models.JSONField(default=dict, help_text="By what a change is seen: size and time, or ETag and the like.")
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of what was read last.")
    absences = models.IntegerField(default=0, help_text="How many looks in a row it was gone.")
    problem = models.TextField(blank=True, help_text="Why it could not be read, a sentence for people.")
    looked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("connector", "place")
        constraints = (models.UniqueConstraint(fields=["connector", "place_key"], name="memory_connectoritem_once"),)

    def __str__(self) -> str:
        return str(self.id)
