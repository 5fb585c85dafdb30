"""Projects: what several people work on together. Their conversations stand in `conversations`."""

import uuid
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.models.documents import Document

if TYPE_CHECKING:
    from hyperagent.accounts.models import User


class ProjectQuerySet(models.QuerySet["Project"]):
    def seen_by(self, user: "User") -> "ProjectQuerySet":
        """Those that this user is a member of; the owner always is one."""
        return self.filter(members=user)


class Project(models.Model):
    """Members see its documents, and add and take away; the owner changes its name, instructions and members."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="owned_projects")
    name = models.CharField(max_length=120)
    instructions = models.TextField(blank=True, help_text="What every agent is told in its conversations.")
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


class Connector(models.Model):
    """A place outside that is looked at again and again, and whose files become documents of its owner."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="connectors")
    kind = models.CharField(max_length=16)
    location = models.TextField(help_text="A folder's path, or an address.")
    every_s = models.IntegerField(default=3600)
    is_on = models.BooleanField(default=True)
    looked_at = models.DateTimeField(null=True, blank=True)
    result = models.TextField(blank=True, help_text="What became of the last look, a sentence for people.")
    is_failing = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("created_at",)
        constraints = (models.UniqueConstraint(fields=["owner", "kind", "location"], name="memory_connector_once"),)

    def __str__(self) -> str:
        return str(self.id)
